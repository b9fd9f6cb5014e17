"""Kafka's wire protocol, as much of it as the tests' admin client needs, over plain TCP.

A message is described by a dict of field name → type, in the order of the protocol's guide. Types:
i8 i16 i32 i64 bool str bytes uuid; [type] is an array; a dict is a struct. str, bytes and arrays
may be None. API names the requests by name, each in the one version that is used here; it must be
one that the pinned broker (pom.xml) speaks.
"""

import base64
import hashlib
import hmac
import os
import socket
import ssl
import struct
import uuid
from collections import namedtuple

INTEGERS = {"i8": ">b", "i16": ">h", "i32": ">i", "i64": ">q", "bool": ">?"}

# Error codes of the protocol that tests meet.
ERRORS = {
    -1: "UNKNOWN_SERVER_ERROR",
    1: "OFFSET_OUT_OF_RANGE",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER",
    7: "REQUEST_TIMED_OUT",
    8: "BROKER_NOT_AVAILABLE",
    13: "NETWORK_EXCEPTION",
    14: "COORDINATOR_LOAD_IN_PROGRESS",
    15: "COORDINATOR_NOT_AVAILABLE",
    16: "NOT_COORDINATOR",
    17: "INVALID_TOPIC_EXCEPTION",
    25: "UNKNOWN_MEMBER_ID",
    36: "TOPIC_ALREADY_EXISTS",
    37: "INVALID_PARTITIONS",
    38: "INVALID_REPLICATION_FACTOR",
    40: "INVALID_CONFIG",
    41: "NOT_CONTROLLER",
    42: "INVALID_REQUEST",
    44: "POLICY_VIOLATION",
    51: "CONCURRENT_TRANSACTIONS",
    56: "KAFKA_STORAGE_ERROR",
    58: "SASL_AUTHENTICATION_FAILED",
    68: "NON_EMPTY_GROUP",
    69: "GROUP_ID_NOT_FOUND",
    83: "ELIGIBLE_LEADERS_NOT_AVAILABLE",
    84: "ELECTION_NOT_NEEDED",
    85: "NO_REASSIGNMENT_IN_PROGRESS",
    86: "GROUP_SUBSCRIBED_TO_TOPIC",
    105: "TRANSACTIONAL_ID_NOT_FOUND",
}
# Those that pass by themselves: leaders and coordinators are being elected or loaded.
RETRIABLE = {3, 5, 6, 7, 8, 13, 14, 15, 16, 41, 51, 56, 83}


class KafkaError(Exception):
    """A broker refused a request; `code` is the protocol's number."""

    def __init__(self, what, code, message=None):
        name = ERRORS.get(code, f"error {code}")
        super().__init__(f"{what}: {name}" + (f": {message}" if message else ""))
        self.code = code


def uvarint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(kind, value, flexible):
    """Bytes of a value of a type; `flexible`: with compact lengths and tagged fields."""
    if isinstance(kind, dict):
        fields = b"".join(encode(inner, value[name], flexible) for name, inner in kind.items())
        return fields + (b"\0" if flexible else b"")
    if isinstance(kind, list):
        items = b"".join(encode(kind[0], item, flexible) for item in value or ())
        length = -1 if value is None else len(value)
        return (uvarint(length + 1) if flexible else struct.pack(">i", length)) + items
    if kind in INTEGERS:
        return struct.pack(INTEGERS[kind], value)
    if kind == "uuid":
        return (value or uuid.UUID(int=0)).bytes
    data = value.encode() if isinstance(value, str) else value
    length = -1 if data is None else len(data)
    if flexible:
        return uvarint(length + 1) + (data or b"")
    return struct.pack(">h" if kind == "str" else ">i", length) + (data or b"")


class Reader:
    """Takes values off the front of a response."""

    def __init__(self, data, flexible):
        self.data = data
        self.at = 0
        self.flexible = flexible

    def take(self, size):
        if size < 0 or self.at + size > len(self.data):
            raise ValueError(f"a field of {size} bytes at {self.at} of {len(self.data)}")
        self.at += size
        return self.data[self.at - size : self.at]

    def integer(self, kind):
        fmt = INTEGERS[kind]
        return struct.unpack(fmt, self.take(struct.calcsize(fmt)))[0]

    def uvarint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def length(self, kind):
        return self.uvarint() - 1 if self.flexible else self.integer(kind)

    def tags(self):
        for _ in range(self.uvarint() if self.flexible else 0):
            self.uvarint()
            self.take(self.uvarint())

    def value(self, kind):
        if isinstance(kind, dict):
            fields = {name: self.value(inner) for name, inner in kind.items()}
            self.tags()
            return fields
        if isinstance(kind, list):
            length = self.length("i32")
            return None if length < 0 else [self.value(kind[0]) for _ in range(length)]
        if kind in INTEGERS:
            return self.integer(kind)
        if kind == "uuid":
            return uuid.UUID(bytes=bytes(self.take(16)))
        length = self.length("i16" if kind == "str" else "i32")
        if length < 0:
            return None
        data = bytes(self.take(length))
        return data.decode() if kind == "str" else data


Api = namedtuple("Api", "key version flexible request response")

_RESULTS = {"throttle_ms": "i32", "topics": [{"name": "str", "error": "i16", "message": "str"}]}
_PARTITION_ERROR = {"partition": "i32", "error": "i16"}
_ENTRY = {"name": "str", "value": "str"}

API = {
    "SaslHandshake": Api(
        17,
        1,
        False,
        {"mechanism": "str"},
        {"error": "i16", "mechanisms": ["str"]},
    ),
    "SaslAuthenticate": Api(
        36, 0, False, {"data": "bytes"}, {"error": "i16", "message": "str", "data": "bytes"}
    ),
    "ListOffsets": Api(
        2,
        4,
        False,
        {
            "replica": "i32",
            "isolation": "i8",
            "topics": [
                {
                    "name": "str",
                    "partitions": [{"partition": "i32", "leader_epoch": "i32", "timestamp": "i64"}],
                }
            ],
        },
        {
            "throttle_ms": "i32",
            "topics": [
                {
                    "name": "str",
                    "partitions": [
                        _PARTITION_ERROR
                        | {"timestamp": "i64", "offset": "i64", "leader_epoch": "i32"}
                    ],
                }
            ],
        },
    ),
    "Metadata": Api(
        3,
        12,
        True,
        {
            "topics": [{"id": "uuid", "name": "str"}],
            "auto_create": "bool",
            "topic_operations": "bool",
        },
        {
            "throttle_ms": "i32",
            "brokers": [{"node": "i32", "host": "str", "port": "i32", "rack": "str"}],
            "cluster": "str",
            "controller": "i32",
            "topics": [
                {
                    "error": "i16",
                    "name": "str",
                    "id": "uuid",
                    "internal": "bool",
                    "partitions": [
                        {
                            "error": "i16",
                            "partition": "i32",
                            "leader": "i32",
                            "leader_epoch": "i32",
                            "replicas": ["i32"],
                            "isr": ["i32"],
                            "offline": ["i32"],
                        }
                    ],
                    "operations": "i32",
                }
            ],
        },
    ),
    "OffsetCommit": Api(
        8,
        6,
        False,
        {
            "group": "str",
            "generation": "i32",
            "member": "str",
            "topics": [
                {
                    "name": "str",
                    "partitions": [
                        {
                            "partition": "i32",
                            "offset": "i64",
                            "leader_epoch": "i32",
                            "metadata": "str",
                        }
                    ],
                }
            ],
        },
        {"throttle_ms": "i32", "topics": [{"name": "str", "partitions": [_PARTITION_ERROR]}]},
    ),
    "OffsetFetch": Api(
        9,
        7,
        True,
        {
            "group": "str",
            "topics": [{"name": "str", "partitions": ["i32"]}],
            "require_stable": "bool",
        },
        {
            "throttle_ms": "i32",
            "topics": [
                {
                    "name": "str",
                    "partitions": [
                        {
                            "partition": "i32",
                            "offset": "i64",
                            "leader_epoch": "i32",
                            "metadata": "str",
                            "error": "i16",
                        }
                    ],
                }
            ],
            "error": "i16",
        },
    ),
    "FindCoordinator": Api(
        10,
        2,
        False,
        {"key": "str", "type": "i8"},
        {
            "throttle_ms": "i32",
            "error": "i16",
            "message": "str",
            "node": "i32",
            "host": "str",
            "port": "i32",
        },
    ),
    "DescribeGroups": Api(
        15,
        4,
        False,
        {"groups": ["str"], "operations": "bool"},
        {
            "throttle_ms": "i32",
            "groups": [
                {
                    "error": "i16",
                    "group": "str",
                    "state": "str",
                    "protocol_type": "str",
                    "protocol": "str",
                    "members": [
                        {
                            "member": "str",
                            "instance": "str",
                            "client": "str",
                            "host": "str",
                            "metadata": "bytes",
                            "assignment": "bytes",
                        }
                    ],
                    "operations": "i32",
                }
            ],
        },
    ),
    "CreateTopics": Api(
        19,
        4,
        False,
        {
            "topics": [
                {
                    "name": "str",
                    "partitions": "i32",
                    "replication": "i16",
                    "assignments": [{"partition": "i32", "brokers": ["i32"]}],
                    "configs": [_ENTRY],
                }
            ],
            "timeout_ms": "i32",
            "validate_only": "bool",
        },
        _RESULTS,
    ),
    "DeleteTopics": Api(
        20,
        3,
        False,
        {"topics": ["str"], "timeout_ms": "i32"},
        {"throttle_ms": "i32", "topics": [{"name": "str", "error": "i16"}]},
    ),
    "DeleteRecords": Api(
        21,
        1,
        False,
        {
            "topics": [{"name": "str", "partitions": [{"partition": "i32", "offset": "i64"}]}],
            "timeout_ms": "i32",
        },
        {
            "throttle_ms": "i32",
            "topics": [
                {
                    "name": "str",
                    "partitions": [{"partition": "i32", "low": "i64", "error": "i16"}],
                }
            ],
        },
    ),
    "InitProducerId": Api(
        22,
        1,
        False,
        {"transactional_id": "str", "timeout_ms": "i32"},
        {"throttle_ms": "i32", "error": "i16", "producer": "i64", "epoch": "i16"},
    ),
    "CreateAcls": Api(
        30,
        1,
        False,
        {
            "acls": [
                {
                    "type": "i8",
                    "name": "str",
                    "pattern": "i8",
                    "principal": "str",
                    "host": "str",
                    "operation": "i8",
                    "permission": "i8",
                }
            ]
        },
        {"throttle_ms": "i32", "results": [{"error": "i16", "message": "str"}]},
    ),
    "DescribeConfigs": Api(
        32,
        3,
        False,
        {
            "resources": [{"type": "i8", "name": "str", "keys": ["str"]}],
            "synonyms": "bool",
            "documentation": "bool",
        },
        {
            "throttle_ms": "i32",
            "results": [
                {
                    "error": "i16",
                    "message": "str",
                    "type": "i8",
                    "name": "str",
                    "configs": [
                        {
                            "name": "str",
                            "value": "str",
                            "read_only": "bool",
                            "source": "i8",
                            "sensitive": "bool",
                            "synonyms": [{"name": "str", "value": "str", "source": "i8"}],
                            "type": "i8",
                            "documentation": "str",
                        }
                    ],
                }
            ],
        },
    ),
    "CreatePartitions": Api(
        37,
        1,
        False,
        {
            "topics": [{"name": "str", "count": "i32", "assignments": [{"brokers": ["i32"]}]}],
            "timeout_ms": "i32",
            "validate_only": "bool",
        },
        _RESULTS,
    ),
    "DeleteGroups": Api(
        42,
        1,
        False,
        {"groups": ["str"]},
        {"throttle_ms": "i32", "results": [{"group": "str", "error": "i16"}]},
    ),
    "ElectLeaders": Api(
        43,
        1,
        False,
        {
            "type": "i8",
            "topics": [{"name": "str", "partitions": ["i32"]}],
            "timeout_ms": "i32",
        },
        {
            "throttle_ms": "i32",
            "error": "i16",
            "topics": [
                {
                    "name": "str",
                    "partitions": [{"partition": "i32", "error": "i16", "message": "str"}],
                }
            ],
        },
    ),
    "IncrementalAlterConfigs": Api(
        44,
        0,
        False,
        {
            "resources": [
                {
                    "type": "i8",
                    "name": "str",
                    "configs": [{"name": "str", "operation": "i8", "value": "str"}],
                }
            ],
            "validate_only": "bool",
        },
        {
            "throttle_ms": "i32",
            "results": [{"error": "i16", "message": "str", "type": "i8", "name": "str"}],
        },
    ),
    "AlterPartitionReassignments": Api(
        45,
        0,
        True,
        {
            "timeout_ms": "i32",
            "topics": [{"name": "str", "partitions": [{"partition": "i32", "replicas": ["i32"]}]}],
        },
        {
            "throttle_ms": "i32",
            "error": "i16",
            "message": "str",
            "topics": [
                {
                    "name": "str",
                    "partitions": [{"partition": "i32", "error": "i16", "message": "str"}],
                }
            ],
        },
    ),
    "OffsetDelete": Api(
        47,
        0,
        False,
        {
            "group": "str",
            "topics": [{"name": "str", "partitions": [{"partition": "i32"}]}],
        },
        {
            "error": "i16",
            "throttle_ms": "i32",
            "topics": [{"name": "str", "partitions": [_PARTITION_ERROR]}],
        },
    ),
    "AlterUserScramCredentials": Api(
        51,
        0,
        True,
        {
            "deletions": [{"name": "str", "mechanism": "i8"}],
            "upsertions": [
                {
                    "name": "str",
                    "mechanism": "i8",
                    "iterations": "i32",
                    "salt": "bytes",
                    "salted_password": "bytes",
                }
            ],
        },
        {"throttle_ms": "i32", "results": [{"user": "str", "error": "i16", "message": "str"}]},
    ),
    "DescribeQuorum": Api(
        55,
        0,
        True,
        {"topics": [{"name": "str", "partitions": [{"partition": "i32"}]}]},
        {
            "error": "i16",
            "topics": [
                {
                    "name": "str",
                    "partitions": [
                        {
                            "partition": "i32",
                            "error": "i16",
                            "leader": "i32",
                            "leader_epoch": "i32",
                            "high_watermark": "i64",
                            "voters": [{"node": "i32", "end": "i64"}],
                            "observers": [{"node": "i32", "end": "i64"}],
                        }
                    ],
                }
            ],
        },
    ),
    "DescribeProducers": Api(
        61,
        0,
        True,
        {"topics": [{"name": "str", "partitions": ["i32"]}]},
        {
            "throttle_ms": "i32",
            "topics": [
                {
                    "name": "str",
                    "partitions": [
                        {
                            "partition": "i32",
                            "error": "i16",
                            "message": "str",
                            "producers": [
                                {
                                    "producer": "i64",
                                    "epoch": "i32",
                                    "sequence": "i32",
                                    "timestamp": "i64",
                                    "coordinator_epoch": "i32",
                                    "transaction_start": "i64",
                                }
                            ],
                        }
                    ],
                }
            ],
        },
    ),
    "DescribeTransactions": Api(
        65,
        0,
        True,
        {"transactional_ids": ["str"]},
        {
            "throttle_ms": "i32",
            "transactions": [
                {
                    "error": "i16",
                    "transactional_id": "str",
                    "state": "str",
                    "timeout_ms": "i32",
                    "start_ms": "i64",
                    "producer": "i64",
                    "epoch": "i16",
                    "topics": [{"name": "str", "partitions": ["i32"]}],
                }
            ],
        },
    ),
    "ListTransactions": Api(
        66,
        0,
        True,
        {"states": ["str"], "producers": ["i64"]},
        {
            "throttle_ms": "i32",
            "error": "i16",
            "unknown_states": ["str"],
            "transactions": [{"transactional_id": "str", "producer": "i64", "state": "str"}],
        },
    ),
}


class Connection:
    """One connection to one broker; a request at a time. Raises OSError when it breaks."""

    def __init__(self, host, port, timeout_s=10):
        self.socket = socket.create_connection((host, port), timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.name = f"{host}:{port}"
        self.correlation = 0

    def close(self):
        self.socket.close()

    def _receive(self, size):
        data = bytearray()
        while len(data) < size:
            chunk = self.socket.recv(size - len(data))
            if not chunk:
                raise ConnectionResetError(f"{self.name} closed the connection")
            data += chunk
        return bytes(data)

    def authenticate(self, user, password, ca_file, mechanism="SCRAM-SHA-512"):
        """TLS, then SASL (RFC 5802) with a broker's secure listener. Raises KafkaError."""
        context = ssl.create_default_context(cafile=ca_file)
        self.socket = context.wrap_socket(self.socket, server_hostname=self.name.split(":")[0])
        self._step("SaslHandshake", mechanism=mechanism)
        if mechanism == "PLAIN":
            self._step("SaslAuthenticate", data=f"\0{user}\0{password}".encode())
            return
        nonce = base64.b64encode(os.urandom(18)).decode()
        first = f"n={user},r={nonce}"
        challenge = self._step("SaslAuthenticate", data=f"n,,{first}".encode())["data"].decode()
        given = dict(part.split("=", 1) for part in challenge.split(","))
        salt, rounds = base64.b64decode(given["s"]), int(given["i"])
        salted = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, rounds)
        client_key = hmac.digest(salted, b"Client Key", "sha512")
        last = f"c=biws,r={given['r']}"
        message = ",".join((first, challenge, last)).encode()
        signature = hmac.digest(hashlib.sha512(client_key).digest(), message, "sha512")
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature))).decode()
        answer = self._step("SaslAuthenticate", data=f"{last},p={proof}".encode())["data"]
        server_key = hmac.digest(salted, b"Server Key", "sha512")
        if base64.b64decode(answer.decode()[2:]) != hmac.digest(server_key, message, "sha512"):
            raise ValueError("the broker does not know the password")

    def _step(self, name, **fields):
        answer = self.call(name, **fields)
        if answer["error"]:
            raise KafkaError(name, answer["error"], answer.get("message"))
        return answer

    def call(self, name, **fields):
        """The response of an API as a dict; fields as in API[name].request."""
        api = API[name]
        self.correlation += 1
        header = struct.pack(">hhi", api.key, api.version, self.correlation)
        header += encode("str", "pipec-tests", False) + (b"\0" if api.flexible else b"")
        body = header + encode(api.request, fields, api.flexible)
        self.socket.sendall(struct.pack(">i", len(body)) + body)
        reader = Reader(self._receive(struct.unpack(">i", self._receive(4))[0]), api.flexible)
        correlation = reader.integer("i32")
        if correlation != self.correlation:
            raise ValueError(f"{name}: answer {correlation} to request {self.correlation}")
        reader.tags()
        answer = reader.value(api.response)
        if reader.at != len(reader.data):
            raise ValueError(f"{name}: {len(reader.data) - reader.at} bytes after the answer")
        return answer
