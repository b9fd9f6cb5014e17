"""The schema registry of the tests answers as Confluent's does."""

import json

import services

SCHEMA = {"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}


def test_registry(env):
    with services.Registry(env.build) as registry:
        number = registry.register("events-value", SCHEMA)
        status, answer = registry.request("GET", f"/schemas/ids/{number}")
        assert status == 200 and json.loads(answer["schema"]) == SCHEMA
        status, answer = registry.request("GET", f"/schemas/ids/{number + 100}")
        assert (status, answer["error_code"]) == (404, 40403)
        registry.set_compatibility("FULL_TRANSITIVE")
        fields = SCHEMA["fields"] + [{"name": "kind", "type": "string"}]
        breaking = {"schema": json.dumps(SCHEMA | {"fields": fields})}
        status, answer = registry.request("POST", "/subjects/events-value/versions", breaking)
        assert status == 409, answer
        registry.pause()
        try:
            registry.request("GET", "/subjects", timeout_s=1)
        except OSError:
            pass
        else:
            raise AssertionError("a paused registry answered")
        registry.resume()
        assert registry.request("GET", "/subjects") == (200, ["events-value"])
        registry.kill()
        try:
            registry.request("GET", "/subjects")
        except OSError:
            pass
        else:
            raise AssertionError("a killed registry answered")
        registry.start()
        status, answer = registry.request("GET", f"/schemas/ids/{number}")
        assert status == 200 and json.loads(answer["schema"]) == SCHEMA
