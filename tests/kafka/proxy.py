"""A TCP proxy in front of Kafka brokers that does, on command, what networks do at the worst time.

It cuts the two byte streams of a connection into requests and responses, knows the API of each
(a response has that of the request with its correlation id), and holds, drops or cuts on what it
finds. It runs in a thread of the test; all methods may be called from any thread.

    rule = cluster.proxy.fault("swallow", "EndTxn", committed=True)   # the next commit's answer
    rule.wait()                                                        # … has been lost

Responses of a connection keep their order, so a delayed one delays those behind it.
"""

import asyncio
import contextlib
import struct
import threading
import time
from collections import Counter, namedtuple

import wire
from processes import free_port

NAMES = {api.key: name for name, api in wire.API.items()} | {
    0: "Produce",
    1: "Fetch",
    11: "JoinGroup",
    12: "Heartbeat",
    13: "LeaveGroup",
    14: "SyncGroup",
    18: "ApiVersions",
    23: "OffsetForLeaderEpoch",
    24: "AddPartitionsToTxn",
    25: "AddOffsetsToTxn",
    26: "EndTxn",
    28: "TxnOffsetCommit",
}
_KEYS = {name: key for key, name in NAMES.items()}
# Requests that begin with a transactional id, and the version from which they are "flexible".
_TRANSACTIONAL = {"InitProducerId": 2, "AddPartitionsToTxn": 3, "AddOffsetsToTxn": 3, "EndTxn": 3}
_TRANSACTIONAL["TxnOffsetCommit"] = 3
_FRAME_MAX_BYTES = 256 << 20
_QUEUE_FRAMES = 10000

# What a rule and its hook see. when: "request" or "response" (then the rest is of its request).
# transactional_id: of transactional requests, committed: of EndTxn (True commit, False abort), else
# None.
Frame = namedtuple("Frame", "when node api version client_id transactional_id committed size")


def parsed_request(data, node):
    """(correlation id, Frame) of the bytes of a request, without its length."""
    key, version, correlation = struct.unpack_from(">hhi", data)
    (length,) = struct.unpack_from(">h", data, 8)
    at = 10 + max(length, 0)
    client_id = bytes(data[10:at]).decode("utf-8", "replace")
    api = NAMES.get(key, str(key))
    transactional_id = committed = None
    if api in _TRANSACTIONAL:
        reader = wire.Reader(data, version >= _TRANSACTIONAL[api])
        reader.at = at
        reader.tags()
        transactional_id = reader.value("str")
        if api == "EndTxn":
            reader.take(10)  # producer id, epoch
            committed = reader.integer("bool")
    frame = Frame("request", node, api, version, client_id, transactional_id, committed, len(data))
    return correlation, frame


class Rule:
    """A fault that waits for its frames. `hits` counts those it has struck."""

    def __init__(self, action, api, when, count, skip, matches, delay_ms, hook, changed):
        self.action, self.when, self.count, self.skip = action, when, count, skip
        self.apis = {api} if isinstance(api, str) else api and set(api)
        self.matches, self.delay_ms, self.hook = matches, delay_ms, hook
        self.hits = 0
        self._changed = changed

    def strikes(self, frame):
        """Whether it acts on a frame; counts."""
        if frame.when != self.when or (self.apis and frame.api not in self.apis):
            return False
        if any(value != getattr(frame, name) for name, value in self.matches.items()):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.count is not None and self.hits >= self.count:
            return False
        with self._changed:
            self.hits += 1
            self._changed.notify_all()
        return True

    def wait(self, timeout_s=30, hits=1):
        """Waits until it has struck so often; raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.hits >= hits, timeout_s):
                raise TimeoutError(f"{self.action} struck {self.hits} times in {timeout_s} s")

    def remove(self):
        """It strikes no more."""
        self.count = self.hits


class _Link:
    """One client connection and the connection to the broker that serves it."""

    def __init__(self, node, client, broker):
        self.node, self.client, self.broker = node, client, broker
        self.pending = {}

    def cut(self):
        for writer in (self.client, self.broker):
            writer.transport.abort()


class Proxy:
    """upstreams: {node id: (host, port)}. ports: {node id: port of 127.0.0.1 to connect to}."""

    def __init__(self, upstreams):
        self.upstreams = dict(upstreams)
        self.ports = {node: free_port() for node in upstreams}
        self._rules, self._links, self._refused = [], set(), set()
        self._delays_ms = {}
        self._counts = Counter()
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._gates, self._servers, self._tasks = {}, [], set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._run(self._listen())

    # Commands ---------------------------------------------------------------------------------

    def fault(
        self,
        action,
        api=None,
        when=None,
        node=None,
        client_id=None,
        transactional_id=None,
        committed=None,
        count=1,
        skip=0,
        delay_ms=0,
        hook=None,
    ):
        """Lays a fault on frames to come; returns its Rule.

        action  "swallow": the frame vanishes, the connection stays. "cut": the connection breaks
                instead. "delay": held for delay_ms. "call": held until hook(frame) has returned.
        api     a name of NAMES or several, None: any
        when    "response" (the broker has done it) or "request" (it never hears of it, or later);
                the default is "response" for swallow, else "request"
        node, client_id, transactional_id, committed    only frames that have this value
        count   how many frames (None: all to come), after `skip` that pass
        """
        if action not in ("swallow", "cut", "delay", "call") or (action == "call") != bool(hook):
            raise ValueError(f"no such fault: {action}")
        apis = [api] if isinstance(api, str) else api or []
        for name in apis:
            if name not in _KEYS:
                raise ValueError(f"no API {name}; proxy.NAMES has them")
        when = when or ("response" if action == "swallow" else "request")
        matches = {
            "node": node,
            "client_id": client_id,
            "transactional_id": transactional_id,
            "committed": committed,
        }
        matches = {name: value for name, value in matches.items() if value is not None}
        rule = Rule(action, api, when, count, skip, matches, delay_ms, hook, self._changed)
        self._rules.append(rule)
        return rule

    def delay(self, ms, node=None):
        """Every frame from now on, both ways, arrives ms later (a round trip takes twice that);
        0 ends it. node: of one broker only."""
        for each in self._nodes(node):
            self._delays_ms[each] = ms

    def blackhole(self, node=None):
        """Nothing gets through, though connections stay open and new ones are accepted."""
        self._run(self._set_gates(self._nodes(node), False))

    def heal(self, node=None, deliver=True):
        """Ends blackhole. deliver: what was sent meanwhile arrives now, late; else it is lost and
        the connections break."""
        if not deliver:
            self.cut(node)
        self._run(self._set_gates(self._nodes(node), True))

    def cut(self, node=None):
        """Breaks all connections now; new ones are served. Returns how many."""
        return self._run(self._cut(self._nodes(node)))

    def refuse(self, node=None, on=True):
        """on: breaks all connections and new ones at once, until refuse(on=False)."""
        for each in self._nodes(node):
            (self._refused.add if on else self._refused.discard)(each)
        if on:
            self.cut(node)

    def clear(self):
        """Ends all faults, delays, black holes and refusals."""
        for rule in self._rules:
            rule.remove()
        self._rules = []
        self.delay(0)
        self.refuse(on=False)
        self.heal()

    def count(self, api, when="request"):
        """Frames of an API that have come to the proxy so far, also those that were not let on."""
        return self._counts[when, api]

    def wait_for(self, api, count=1, when="request", timeout_s=30):
        """Waits until `count` more frames of an API have come; raises TimeoutError."""
        with self._changed:
            target = self._counts[when, api] + count
            if not self._changed.wait_for(lambda: self._counts[when, api] >= target, timeout_s):
                raise TimeoutError(f"no {count} {api} {when}s in {timeout_s} s")

    def close(self):
        """Breaks all connections and ends the thread."""
        if self._thread.is_alive():
            self._run(self._shut())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    # In the loop's thread -----------------------------------------------------------------------

    def _nodes(self, node):
        return list(self.ports) if node is None else [node]

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)

    async def _listen(self):
        for node, port in self.ports.items():
            self._gates[node] = asyncio.Event()
            self._gates[node].set()

            async def serve(reader, writer, node=node):
                self._tasks.add(asyncio.current_task())
                try:
                    await self._serve(node, reader, writer)
                finally:
                    self._tasks.discard(asyncio.current_task())

            self._servers.append(await asyncio.start_server(serve, "127.0.0.1", port))

    async def _shut(self):
        for server in self._servers:
            server.close()
        for link in self._links:
            link.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _set_gates(self, nodes, is_open):
        for node in nodes:
            (self._gates[node].set if is_open else self._gates[node].clear)()

    async def _cut(self, nodes):
        links = [link for link in self._links if link.node in nodes]
        for link in links:
            link.cut()
        return len(links)

    async def _serve(self, node, reader, writer):
        if node in self._refused:
            writer.transport.abort()
            return
        try:
            broker_reader, broker = await asyncio.open_connection(*self.upstreams[node])
        except OSError:
            writer.transport.abort()
            return
        link = _Link(node, writer, broker)
        self._links.add(link)
        lanes = [("request", reader, broker), ("response", broker_reader, writer)]
        tasks = []
        for when, source, target in lanes:
            queue = asyncio.Queue(_QUEUE_FRAMES)
            tasks.append(asyncio.ensure_future(self._receive(link, when, source, queue)))
            tasks.append(asyncio.ensure_future(self._deliver(link, target, queue)))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            link.cut()
            self._links.discard(link)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _seen(self, link, when, data):
        if when == "request":
            correlation, frame = parsed_request(data, link.node)
            link.pending[correlation] = frame
        else:
            (correlation,) = struct.unpack_from(">i", data)
            frame = link.pending.pop(correlation)._replace(when=when, size=len(data))
        with self._changed:
            self._counts[when, frame.api] += 1
            self._changed.notify_all()
        return frame

    async def _receive(self, link, when, source, queue):
        """Reads frames of one direction, decides on each, passes them on. Ends when the stream
        does."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                (size,) = struct.unpack(">i", await source.readexactly(4))
                if not 0 < size <= _FRAME_MAX_BYTES:
                    raise ConnectionAbortedError(f"a frame of {size} bytes")
                data = await source.readexactly(size)
                frame = self._seen(link, when, data)
                rules = [rule for rule in list(self._rules) if rule.strikes(frame)]
                due = time.monotonic() + self._delays_ms.get(link.node, 0) / 1000
                await queue.put((due, frame, data, rules))

    async def _deliver(self, link, target, queue):
        """Writes the frames of one direction, each when its time has come. Ends at a cut."""
        with contextlib.suppress(OSError):
            while True:
                due, frame, data, rules = await queue.get()
                await asyncio.sleep(max(0, due - time.monotonic()))
                await self._gates[link.node].wait()
                for rule in rules:
                    if rule.action == "delay":
                        await asyncio.sleep(rule.delay_ms / 1000)
                    elif rule.action == "call":
                        await self._loop.run_in_executor(None, rule.hook, frame)
                actions = {rule.action for rule in rules}
                if "cut" in actions:
                    return
                if "swallow" not in actions:
                    target.write(struct.pack(">i", len(data)) + data)
                    await target.drain()
