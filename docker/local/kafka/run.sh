#!/bin/bash
# Starts a broker as the image apache/kafka does: KAFKA_A_B=value is the property a.b, CLUSTER_ID
# formats the storage at the first start, KAFKA_HEAP_OPTS and KAFKA_JVM_PERFORMANCE_OPTS go to Java.
set -euo pipefail
config=/opt/kafka/config/server.properties
jars='/opt/kafka/lib/*'

while IFS= read -r -d '' entry; do
    name=${entry%%=*}
    case $name in
    KAFKA_HEAP_OPTS | KAFKA_JVM_PERFORMANCE_OPTS) ;;
    KAFKA_*__*)
        echo "run.sh: $name: two underscores mean something else in the real image" >&2
        exit 1
        ;;
    KAFKA_*)
        property=${name#KAFKA_}
        property=${property,,}
        printf '%s=%s\n' "${property//_/.}" "${entry#*=}"
        ;;
    esac
done < <(env -0) >"$config"

read -ra heap <<<"$KAFKA_HEAP_OPTS"
read -ra options <<<"$KAFKA_JVM_PERFORMANCE_OPTS"
logging=(-Dorg.slf4j.simpleLogger.defaultLogLevel=warn)
if [ ! -f "$KAFKA_LOG_DIRS/meta.properties" ]; then
    java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "${logging[@]}" -cp "$jars" \
        kafka.tools.StorageTool format -t "$CLUSTER_ID" -c "$config"
fi
exec java "${heap[@]}" "${options[@]}" "${logging[@]}" -cp "$jars" kafka.Kafka "$config"
