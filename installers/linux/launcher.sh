#!/bin/sh
# Starts the current version of Hearth, or the former one: if the current one is not there, or if it is on trial after
# an update and has been started before without coming up (core/update/trial.py).
here=$(dirname -- "$(readlink -f -- "$0")")
id() { [ -f "$here/$1" ] && head -c 64 "$here/$1" | tr -d '\0'; }
current=$(id current)
former=$(id former)
first=$current
if [ -e "$here/trial" ]; then
    # what cannot be noted, as on a full disk, could be started without end
    if [ -e "$here/tried" ] || ! { true >"$here/tried"; } 2>/dev/null; then first=$former; fi
fi
# where neither file names a version, as after a crash of the disk, any that is there
for path in "$first" "$current" "$former" "$here"/versions/*; do
    version=${path#"$here/versions/"}
    case $version in "" | *[!0-9a-f]*) continue ;; esac
    if [ -x "$here/versions/$version/hearth" ]; then
        HEARTH_INSTALLATION=$here
        HEARTH_VERSION_ID=$version
        export HEARTH_INSTALLATION HEARTH_VERSION_ID
        exec "$here/versions/$version/hearth" "$@"
    fi
done
echo "hearth: no version is installed in $here" >&2
exit 127
