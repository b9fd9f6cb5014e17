"""What a test can order to go wrong in server.py, and which request it hits.

A fault is a dict:
  kind     cut_before   the connection ends before the body is read; nothing is acted on
           cut_during   the same in the middle of the body
           cut_after    the same when all of it was read
           cut_done     acted on, then the connection ends without an answer
           cut_answer   acted on, and the connection ends in the middle of the answer
           hold         acted on; the answer waits for /release, or `seconds`
           late         the connection ends after the body; acted on at /release, or after `seconds`
           delay        `seconds` pass before it is acted on
           answer       `status`, `headers`, `body` as given; acted on before it if `after`
           exception    the error `code` with `text`, acted on before it if `after`. place: both
                        (default), header, body: with status 200 for the latter two; tag: in the
                        stream of an answer, as 25.11 and later do; cut: behind the begun answer
  match    a regular expression that the statement must contain (default: any)
  count    how often, default 1; -1 without end
  skip     how many that match pass before
"""

import re
import threading

KINDS = (
    "cut_before cut_during cut_after cut_done cut_answer hold late delay answer exception".split()
)
NAMES = {
    3: "UNEXPECTED_END_OF_FILE",
    47: "UNKNOWN_IDENTIFIER",
    53: "TYPE_MISMATCH",
    60: "UNKNOWN_TABLE",
    159: "TIMEOUT_EXCEEDED",
    164: "READONLY",
    202: "TOO_MANY_SIMULTANEOUS_QUERIES",
    203: "NO_FREE_CONNECTION",
    209: "SOCKET_TIMEOUT",
    210: "NETWORK_ERROR",
    216: "QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING",
    241: "MEMORY_LIMIT_EXCEEDED",
    242: "TABLE_IS_READ_ONLY",
    243: "NOT_ENOUGH_SPACE",
    252: "TOO_MANY_PARTS",
    285: "TOO_FEW_LIVE_REPLICAS",
    319: "UNKNOWN_STATUS_OF_INSERT",
    425: "SYSTEM_ERROR",
    497: "ACCESS_DENIED",
    516: "AUTHENTICATION_FAILED",
    999: "KEEPER_EXCEPTION",
}


class Faults:
    """The orders of a server, and its record of requests. Used by many threads."""

    RECORDED = 10000

    def __init__(self):
        self.lock = threading.Lock()
        self.orders, self.requests = [], []
        self.released = threading.Event()

    def add(self, order):
        if order.get("kind") not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}")
        re.compile(order.get("match", ""))
        with self.lock:
            self.orders.append({"count": 1, "skip": 0, "match": "", "hits": 0, **order})
            self.released.clear()

    def clear(self):
        """Forgets all orders; what is held goes on."""
        with self.lock:
            self.orders = []
        self.release()

    def release(self):
        """Lets go on what is held or late."""
        with self.lock:
            self.released.set()
            self.released = threading.Event()

    def take(self, statement):
        """The order that hits this request, or None."""
        with self.lock:
            for order in self.orders:
                if order["count"] == 0 or not re.search(order["match"], statement, re.S | re.I):
                    continue
                if order["skip"] > 0:
                    order["skip"] -= 1
                    continue
                order["count"] -= 1
                order["hits"] += 1
                return dict(order)
        return None

    def wait(self, order):
        """Waits for /release, or as long as the order says."""
        with self.lock:
            event = self.released
        event.wait(order.get("seconds"))

    def record(self, entry):
        """A request that has come. What is known later is added to the entry, all of it before the
        answer: who has an answer finds its request."""
        with self.lock:
            self.requests.append(entry)
            del self.requests[: -self.RECORDED]

    def shown(self):
        with self.lock:
            return list(self.orders)

    def recorded(self):
        with self.lock:
            return [dict(entry) for entry in self.requests]


def exception_text(code, text, version):
    """As a server words it."""
    name = NAMES.get(code)
    return (
        f"Code: {code}. DB::Exception: {text}. {f'({name}) ' if name else ''}(version {version})\n"
    )
