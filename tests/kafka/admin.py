"""Asks and changes a Kafka cluster: topics, offsets, transactions, coordinators, users.

Admin speaks the wire protocol itself, so it needs no client library and sees what those hide:
topic ids, open transactions, the controller. Every call retries what passes by itself (a leader
being elected, a broker that is down while another answers) for `timeout_s`; anything else raises
KafkaError. Not thread-safe: one Admin a thread.
"""

import contextlib
import hashlib
import os
import struct
import time

import wire
from wire import KafkaError

GROUP, TRANSACTION = 0, 1
_TOPIC, _BROKER = 2, 4
_SCRAM_SHA_512 = 2
_SCRAM_ITERATIONS = 4096
_ABSENT, _EXISTS, _INVALID_PARTITIONS = 3, 36, 37
LATEST, EARLIEST = -1, -2
_ACL_TYPES = {"topic": 2, "group": 3, "cluster": 4, "transactional_id": 5}
_ACL_OPERATIONS = dict(
    all=2,
    read=3,
    write=4,
    create=5,
    delete=6,
    alter=7,
    describe=8,
    describe_configs=10,
    idempotent_write=12,
)
_ACL_PATTERNS = {"literal": 3, "prefixed": 4}


def java_hash(text):
    """String.hashCode of Java, as the brokers place groups and transactional ids."""
    value = 0
    for (unit,) in struct.iter_unpack("<H", text.encode("utf-16-le")):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value


def coordinator_partition(key, partitions):
    """Partition of __consumer_offsets or __transaction_state that holds a key."""
    value = java_hash(key)
    magnitude = value if value < 1 << 31 else (1 << 32) - value  # Math.abs
    return (magnitude if magnitude < 1 << 31 else 0) % partitions


class Admin:
    """Client of one cluster. bootstrap: "host:port,…" of PLAINTEXT listeners."""

    def __init__(self, bootstrap, timeout_s=30):
        self.bootstrap = [
            (host, int(port)) for host, port in (a.rsplit(":", 1) for a in bootstrap.split(","))
        ]
        self.timeout_s = timeout_s
        self._open = {}

    def close(self):
        for connection in self._open.values():
            connection.close()
        self._open.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Calls ------------------------------------------------------------------------------------

    def _call_at(self, address, name, fields):
        if address not in self._open:
            self._open[address] = wire.Connection(*address, timeout_s=min(self.timeout_s, 5))
        try:
            return self._open[address].call(name, **fields)
        except (OSError, ValueError):
            self._open.pop(address).close()
            raise

    def _any(self, name, fields):
        """The first answer of a broker of the bootstrap list; one that failed comes last then."""
        problem = None
        for address in list(self.bootstrap):
            try:
                return self._call_at(address, name, fields)
            except OSError as error:
                self.bootstrap.append(self.bootstrap.pop(0))
                problem = error
        raise problem

    def _retry(self, attempt):
        """attempt() until it raises nothing that passes by itself, for timeout_s."""
        deadline = time.monotonic() + self.timeout_s
        while True:
            try:
                return attempt()
            except (OSError, KafkaError) as error:
                if isinstance(error, KafkaError) and error.code not in wire.RETRIABLE:
                    raise
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.1)

    @staticmethod
    def _check(what, result):
        if result["error"]:
            raise KafkaError(what, result["error"], result.get("message"))
        return result

    def call(self, name, node=None, **fields):
        """One raw request (wire.API) to a broker by node id, or to any; no retry."""
        if node is None:
            return self._any(name, fields)
        brokers = self.brokers()
        if node not in brokers:
            raise KafkaError(f"node {node}", 8)
        return self._call_at(brokers[node], name, fields)

    # Cluster ----------------------------------------------------------------------------------

    def metadata(self, topics=()):
        """The raw Metadata answer; topics=None: of all topics."""
        wanted = None if topics is None else [{"id": None, "name": name} for name in topics]
        return self._any(
            "Metadata", {"topics": wanted, "auto_create": False, "topic_operations": False}
        )

    def brokers(self):
        """{node id: (host, port)} of the brokers that are up, as the cluster sees it."""
        return {b["node"]: (b["host"], b["port"]) for b in self.metadata()["brokers"]}

    def controller(self):
        """Node id of the active controller."""

        def attempt():
            topic = {"name": "__cluster_metadata", "partitions": [{"partition": 0}]}
            answer = self._check("DescribeQuorum", self._any("DescribeQuorum", {"topics": [topic]}))
            found = self._check("DescribeQuorum", answer["topics"][0]["partitions"][0])
            if found["leader"] < 0:
                raise KafkaError("DescribeQuorum", 5)
            return found["leader"]

        return self._retry(attempt)

    def _coordinator(self, key, kind):
        def attempt():
            answer = self._any("FindCoordinator", {"key": key, "type": kind})
            return self._check(f"coordinator of {key}", answer)["node"]

        return self._retry(attempt)

    def group_coordinator(self, group):
        """Node id of a consumer group's coordinator."""
        return self._coordinator(group, GROUP)

    def transaction_coordinator(self, transactional_id):
        """Node id of the coordinator of a transactional.id."""
        return self._coordinator(transactional_id, TRANSACTION)

    def _at_coordinator(self, key, kind, name, **fields):
        return self.call(name, node=self._coordinator(key, kind), **fields)

    # Topics -----------------------------------------------------------------------------------

    def topics(self):
        """Names of all topics that are not the broker's own, sorted."""
        found = self._retry(lambda: self.metadata(None))["topics"]
        return sorted(topic["name"] for topic in found if not topic["internal"])

    def topic(self, name):
        """{"id": UUID, "partitions": {number: {"leader", "replicas", "isr"}}}; None if absent."""
        with contextlib.suppress(KafkaError):
            found = self._check(name, self._retry(lambda: self.metadata([name]))["topics"][0])
            return {
                "id": found["id"],
                "partitions": {
                    p["partition"]: {k: p[k] for k in ("leader", "replicas", "isr")}
                    for p in found["partitions"]
                },
            }
        return None

    def create_topic(self, name, partitions=1, replication=-1, configs=None, leaders=None):
        """Creates a topic and waits until all partitions have leaders. configs: {key: value};
        leaders: node ids, the replicas of each partition beginning with one ([[1, 2], [2, 3]])."""
        given = leaders or []
        topic = {
            "name": name,
            "partitions": -1 if given else partitions,
            "replication": -1 if given else replication,
            "assignments": [{"partition": p, "brokers": b} for p, b in enumerate(given)],
            "configs": [{"name": k, "value": str(v)} for k, v in (configs or {}).items()],
        }
        fields = {"topics": [topic], "timeout_ms": 20000, "validate_only": False}
        found = self._retry(lambda: self.metadata([name]))["topics"][0]
        if not found["error"]:
            raise KafkaError(f"create topic {name}", _EXISTS)

        # It did not exist: if it does at a second attempt, the first one was carried out. Brokers
        # too ask the controller again when it answers late.
        def attempt():
            answer = self._any("CreateTopics", fields)["topics"][0]
            if answer["error"] != _EXISTS:
                self._check(f"create topic {name}", answer)

        self._retry(attempt)
        self.wait_for_leaders(name, len(given) or partitions)

    def wait_for_leaders(self, name, partitions):
        """Waits until every broker knows `partitions` partitions of a topic, each with a leader
        that serves it."""

        def attempt():
            wanted = [{"id": None, "name": name}]
            fields = {"topics": wanted, "auto_create": False, "topic_operations": False}
            for address in self.brokers().values():
                found = self._call_at(address, "Metadata", fields)["topics"][0]
                self._check(name, found)
                if len(found["partitions"]) != partitions:
                    raise KafkaError(f"{name} at {address}", 3)
                for partition in found["partitions"]:
                    self._check(name, partition)

        self._retry(attempt)
        self.offsets(name)

    def delete_topic(self, name):
        """Deletes a topic and waits until no broker knows it."""

        self._check(f"delete topic {name}", self.metadata([name])["topics"][0])

        def attempt():  # as with create_topic, an earlier attempt may have been carried out
            answer = self._any("DeleteTopics", {"topics": [name], "timeout_ms": 20000})["topics"][0]
            if answer["error"] != _ABSENT:
                self._check(f"delete topic {name}", answer)

        self._retry(attempt)
        wanted = [{"id": None, "name": name}]
        fields = {"topics": wanted, "auto_create": False, "topic_operations": False}

        def gone():
            for address in self.brokers().values():
                if not self._call_at(address, "Metadata", fields)["topics"][0]["error"]:
                    raise KafkaError(f"{name} is still there", 7)

        self._retry(gone)

    def add_partitions(self, name, total):
        """Raises the number of partitions of a topic to `total`."""
        topic = {"name": name, "count": total, "assignments": None}
        fields = {"topics": [topic], "timeout_ms": 20000, "validate_only": False}
        before = len(self._leaders(name))

        def attempt():
            answer = self._any("CreatePartitions", fields)["topics"][0]
            carried_out = before < total == len(self._leaders(name))
            if answer["error"] != _INVALID_PARTITIONS or not carried_out:
                self._check(f"partitions of {name}", answer)

        self._retry(attempt)
        self.wait_for_leaders(name, total)

    def _configs(self, kind, name, node=None):
        resource = {"type": kind, "name": name, "keys": None}
        answer = self.call(
            "DescribeConfigs", node, resources=[resource], synonyms=False, documentation=False
        )
        found = self._check(f"configuration of {name}", answer["results"][0])
        return {entry["name"]: entry["value"] for entry in found["configs"]}

    def topic_configs(self, name):
        """{key: value} of a topic, defaults included."""
        return self._configs(_TOPIC, name)

    def broker_configs(self, node):
        """{key: value} of a broker, defaults included; secrets are None."""
        return self._configs(_BROKER, str(node), node)

    def alter_topic(self, name, configs):
        """Sets configurations of a topic; a value of None goes back to the default."""
        entries = [
            {"name": key, "operation": 1 if value is None else 0, "value": value and str(value)}
            for key, value in configs.items()
        ]
        resource = {"type": _TOPIC, "name": name, "configs": entries}
        answer = self._any(
            "IncrementalAlterConfigs", {"resources": [resource], "validate_only": False}
        )
        self._check(f"configuration of {name}", answer["results"][0])

        def told():
            found = self.topic_configs(name)
            for key, value in configs.items():
                if value is not None and found[key] != str(value):
                    raise KafkaError(f"{key} of {name} is {found[key]} still", 7)

        self._retry(told)  # brokers learn of it by and by

    def _leaders(self, name):
        found = self._check(name, self.metadata([name])["topics"][0])
        return {p["partition"]: self._check(name, p)["leader"] for p in found["partitions"]}

    def offsets(self, name, timestamp=LATEST, isolation="read_uncommitted"):
        """{partition: offset}: the end, with read_committed the last stable offset, with
        timestamp=EARLIEST the log start, with milliseconds the first record not before (or -1)."""

        def attempt():
            result = {}
            for partition, leader in self._leaders(name).items():
                wanted = {"partition": partition, "leader_epoch": -1, "timestamp": timestamp}
                answer = self.call(
                    "ListOffsets",
                    leader,
                    replica=-1,
                    isolation=int(isolation == "read_committed"),
                    topics=[{"name": name, "partitions": [wanted]}],
                )
                found = answer["topics"][0]["partitions"][0]
                result[partition] = self._check(f"offsets of {name}", found)["offset"]
            return result

        return self._retry(attempt)

    def wait_stable(self, *names):
        """Waits until no transaction is open on topics: a commit is answered before its markers are
        written, so a read_committed reader may not see it at once."""

        def attempt():
            for name in names:
                if self.offsets(name) != self.offsets(name, isolation="read_committed"):
                    raise KafkaError(f"a transaction is open on {name}", 7)

        self._retry(attempt)

    def delete_records(self, name, before):
        """Deletes what lies before an offset, as retention does. before: {partition: offset}, -1:
        all. Returns the new log starts."""

        def attempt():
            leaders = self._leaders(name)
            result = {}
            for partition, offset in before.items():
                wanted = [{"partition": partition, "offset": offset}]
                answer = self.call(
                    "DeleteRecords",
                    leaders[partition],
                    topics=[{"name": name, "partitions": wanted}],
                    timeout_ms=20000,
                )
                found = answer["topics"][0]["partitions"][0]
                result[partition] = self._check(f"records of {name}", found)["low"]
            return result

        return self._retry(attempt)

    # Groups -----------------------------------------------------------------------------------

    def group_offsets(self, group, require_stable=False):
        """{(topic, partition): (offset, metadata)} of what a group has committed. With
        require_stable it waits for open transactions that hold offsets of the group."""

        def attempt():
            answer = self._at_coordinator(
                group, GROUP, "OffsetFetch", group=group, topics=None, require_stable=require_stable
            )
            self._check(f"offsets of group {group}", answer)
            result = {}
            for topic in answer["topics"]:
                for found in topic["partitions"]:
                    if found["error"] == 88:  # UNSTABLE_OFFSET_COMMIT
                        raise KafkaError(f"offsets of group {group}", 7, "a transaction is open")
                    self._check(f"offsets of group {group}", found)
                    place = (topic["name"], found["partition"])
                    result[place] = (found["offset"], found["metadata"])
            return result

        return self._retry(attempt)

    def commit_offsets(self, group, offsets):
        """Overwrites offsets of a group without members; offsets as group_offsets gives them."""

        def attempt():
            topics = [
                {
                    "name": topic,
                    "partitions": [
                        {
                            "partition": partition,
                            "offset": offset,
                            "leader_epoch": -1,
                            "metadata": metadata,
                        }
                    ],
                }
                for (topic, partition), (offset, metadata) in offsets.items()
            ]
            answer = self._at_coordinator(
                group, GROUP, "OffsetCommit", group=group, generation=-1, member="", topics=topics
            )
            for topic in answer["topics"]:
                for found in topic["partitions"]:
                    self._check(f"offsets of group {group}", found)

        self._retry(attempt)

    def delete_offsets(self, group, topic, partitions):
        """Deletes committed offsets; the group must not be consuming the topic."""

        def attempt():
            wanted = [{"partition": partition} for partition in partitions]
            answer = self._at_coordinator(
                group,
                GROUP,
                "OffsetDelete",
                group=group,
                topics=[{"name": topic, "partitions": wanted}],
            )
            self._check(f"offsets of group {group}", answer)
            for found in answer["topics"][0]["partitions"]:
                self._check(f"offsets of group {group}", found)

        self._retry(attempt)

    def delete_group(self, group):
        """Deletes a group without members, and its offsets."""

        def attempt():
            answer = self._at_coordinator(group, GROUP, "DeleteGroups", groups=[group])
            self._check(f"group {group}", answer["results"][0])

        self._retry(attempt)

    def describe_group(self, group):
        """{"state": "Stable" …, "members": [{"member", "client", "instance"} …]}"""

        def attempt():
            answer = self._at_coordinator(
                group, GROUP, "DescribeGroups", groups=[group], operations=False
            )
            found = self._check(f"group {group}", answer["groups"][0])
            names = ("member", "client", "instance")
            members = [{name: m[name] for name in names} for m in found["members"]]
            return {"state": found["state"], "members": members}

        return self._retry(attempt)

    # Transactions -----------------------------------------------------------------------------

    def transactions(self):
        """[{"transactional_id", "producer", "state"}] of the whole cluster."""
        result = []
        for node in self.brokers():
            answer = self.call("ListTransactions", node, states=[], producers=[])
            result += self._check("transactions", answer)["transactions"]
        return sorted(result, key=lambda found: found["transactional_id"])

    def describe_transaction(self, transactional_id):
        """{"state": "Ongoing" …, "producer", "epoch", "timeout_ms", "start_ms", "topics"}"""

        def attempt():
            answer = self._at_coordinator(
                transactional_id,
                TRANSACTION,
                "DescribeTransactions",
                transactional_ids=[transactional_id],
            )
            return self._check(f"transaction {transactional_id}", answer["transactions"][0])

        return self._retry(attempt)

    def open_transactions(self, name):
        """{partition: [offset at which a transaction that is still open began]} of a topic."""

        def attempt():
            result = {}
            for partition, leader in self._leaders(name).items():
                answer = self.call(
                    "DescribeProducers", leader, topics=[{"name": name, "partitions": [partition]}]
                )
                found = answer["topics"][0]["partitions"][0]
                self._check(f"producers of {name}", found)
                starts = [p["transaction_start"] for p in found["producers"]]
                result[partition] = sorted(start for start in starts if start >= 0)
            return result

        return self._retry(attempt)

    def fence(self, transactional_id, timeout_ms=30000):
        """Starts a newer instance of a transactional.id: an open transaction is aborted and the
        producer that had it is fenced. Returns (producer id, epoch) of the new one."""

        def attempt():
            answer = self._at_coordinator(
                transactional_id,
                TRANSACTION,
                "InitProducerId",
                transactional_id=transactional_id,
                timeout_ms=timeout_ms,
            )
            self._check(f"fence {transactional_id}", answer)
            return answer["producer"], answer["epoch"]

        return self._retry(attempt)

    # Leaders ----------------------------------------------------------------------------------

    def move_leader(self, name, partition, node):
        """Makes a broker that holds a replica the leader of a partition; waits until it is."""

        def attempt():
            found = self._check(name, self.metadata([name])["topics"][0])
            known = {p["partition"]: p for p in found["partitions"]}[partition]
            order = [node] + [replica for replica in known["replicas"] if replica != node]
            if len(order) != len(known["replicas"]):
                raise ValueError(f"broker {node} holds no replica of {name} {partition}")
            if order != known["replicas"]:
                wanted = [{"partition": partition, "replicas": order}]
                topics = [{"name": name, "partitions": wanted}]
                fields = {"timeout_ms": 10000, "topics": topics}
                answer = self._any("AlterPartitionReassignments", fields)
                self._check("reassignment", answer)
                self._check("reassignment", answer["topics"][0]["partitions"][0])
            if known["leader"] == node:
                return
            topics = [{"name": name, "partitions": [partition]}]
            self._any("ElectLeaders", {"type": 0, "topics": topics, "timeout_ms": 10000})
            raise KafkaError(f"leader of {name} {partition}", 7, f"not yet {node}")

        self._retry(attempt)

    def move_coordinator(self, kind, key, node):
        """Moves the coordinator of a group (kind GROUP) or transactional.id (TRANSACTION)."""
        self._coordinator(key, kind)
        name = ("__consumer_offsets", "__transaction_state")[kind]
        count = len(self._retry(lambda: self.metadata([name]))["topics"][0]["partitions"])
        self.move_leader(name, coordinator_partition(key, count), node)

        def attempt():
            if self._coordinator(key, kind) != node:
                raise KafkaError(f"coordinator of {key}", 16)

        self._retry(attempt)

    # Users ------------------------------------------------------------------------------------

    def set_user(self, name, password):
        """Makes a SCRAM-SHA-512 user, or changes its password."""
        salt = os.urandom(16)
        salted = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, _SCRAM_ITERATIONS)
        user = {
            "name": name,
            "mechanism": _SCRAM_SHA_512,
            "iterations": _SCRAM_ITERATIONS,
            "salt": salt,
            "salted_password": salted,
        }

        def attempt():
            fields = {"deletions": [], "upsertions": [user]}
            answer = self._any("AlterUserScramCredentials", fields)
            self._check(f"user {name}", answer["results"][0])

        self._retry(attempt)

    def allow(self, user, resource, name, operation, pattern="literal"):
        """Gives a user a right, on a cluster started with acls=True. resource: topic, group,
        transactional_id or cluster (name "kafka-cluster"); operation: read, write, describe …;
        pattern: whether names that begin so count too (prefixed)."""
        acl = {
            "type": _ACL_TYPES[resource],
            "name": name,
            "pattern": _ACL_PATTERNS[pattern],
            "principal": f"User:{user}",
            "host": "*",
            "operation": _ACL_OPERATIONS[operation],
            "permission": 3,
        }

        def attempt():
            self._check("ACL", self._any("CreateAcls", {"acls": [acl]})["results"][0])

        self._retry(attempt)
