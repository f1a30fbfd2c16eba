#!/bin/bash
# Installs all providers at once, those of Python's registry beside those of Debian's, so that no
# test waits for it. PROVIDERS_CACHE says where Python's are kept.
set -uo pipefail
cd "$(dirname "$0")"

# One after the other: dpkg has one lock.
(./glewlwyd.sh --install && ./lemonldap.sh --install && ./apache.sh --install) &
jobs=($!)
for name in nanoidp dot canaille authgent; do
    ./$name.sh --install &
    jobs+=($!)
done
for job in "${jobs[@]}"; do
    wait "$job" || exit 1
done
