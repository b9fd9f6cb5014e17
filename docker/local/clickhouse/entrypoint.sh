#!/bin/bash
# Starts the front as the image clickhouse/clickhouse-server starts its server.
set -eu
exec python3 /opt/clickhouse/front/server.py --host 0.0.0.0 --port 8123 \
    --user "${CLICKHOUSE_USER:-default}:${CLICKHOUSE_PASSWORD-}" /var/lib/clickhouse
