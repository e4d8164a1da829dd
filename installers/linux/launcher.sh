#!/bin/sh
# Starts the current version of Hearth, or the former one: if the current one is not there, or if it is on trial after
# an update and has been started before without coming up (core/update/trial.py).
here=$(dirname -- "$(readlink -f -- "$0")")
current=$(cat "$here/current" 2>/dev/null)
former=$(cat "$here/former" 2>/dev/null)
first=$current
if [ -e "$here/trial" ]; then
    # what cannot be noted, as on a full disk, could be started without end
    if [ -e "$here/tried" ] || ! { true >"$here/tried"; } 2>/dev/null; then first=$former; fi
fi
for version in "$first" "$current" "$former"; do
    if [ -n "$version" ] && [ -x "$here/versions/$version/hearth" ]; then
        HEARTH_INSTALLATION=$here
        HEARTH_VERSION_ID=$version
        export HEARTH_INSTALLATION HEARTH_VERSION_ID
        exec "$here/versions/$version/hearth" "$@"
    fi
done
echo "hearth: no version is installed in $here" >&2
exit 127
