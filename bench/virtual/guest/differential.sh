# Functions for a test that compares all files of the kernel before and after powerband changed one of them.
# /run/moving has patterns of the paths that are left out.

all_files() { find /proc/sys /sys/devices/system/cpu /sys/kernel/mm /sys/block/*/queue /sys/class/net/*/ -type f "$@" 2>/dev/null; }

# Writes what every file reads to /run/now, a line of a file in a line.
look() {
    all_files >/run/names.now
    cmp -s /run/names.now /run/names || { mv /run/names.now /run/names; grep -v -f /run/moving /run/names >/run/list; }
    xargs grep -s '' /dev/null </run/list >/run/now
}

# Prints lines that differ from the last time.
differing() {
    look
    cmp -s /run/before /run/now || { sleep 0.3; look; }
    cmp -s /run/before /run/now || diff -U 0 /run/before /run/now | grep '^[-+]/'
    mv /run/now /run/before
}

# Prints what files read, with their paths.
texts() { grep -s '' "$@" /dev/null; }

# Holds settings for a command that prints the files and ends well, and answers powerband's code.
held() {
    files=$1
    shift
    powerband with "$@" -- sh -c 'grep -s "" $0 /dev/null; true' "$files" >/run/held
    echo $? >/run/code
}

# The same with `set` and `undo`.
kept() {
    files=$1
    shift
    powerband set "$@" >/dev/null
    echo $? >/run/code
    texts $files >/run/held
    [ "$(cat /run/code)" != 0 ] || powerband undo >/dev/null || echo $? >/run/code
}

# The same with an owner that is killed while its command runs.
killed() {
    files=$1
    shift
    rm -f /run/holds
    setsid powerband with "$@" -- sh -c 'grep -s "" $0 /dev/null >/run/held; echo >/run/holds; exec sleep 600' "$files" &
    owner=$!
    while [ ! -e /run/holds ] && kill -0 $owner 2>/dev/null; do sleep 0.05; done
    if [ -e /run/holds ]; then
        kill -9 $owner
        wait $owner 2>/dev/null
        echo 0 >/run/code
    else
        wait $owner
        echo $? >/run/code
    fi
    while pidof powerband >/dev/null; do sleep 0.05; done
}

# Leaves a fault behind, so that the next change is judged for itself.
forget() {
    powerband undo --left --force >/dev/null 2>&1
    rm -rf /var/lib/powerband
    differing >/dev/null
}

# Changes files in a manner, and prints what was read meanwhile, a line of dashes, and what differs afterwards. The manner, the
# files in one word, settings.
try() {
    rm -f /run/held
    "$@"
    cat /run/held 2>/dev/null
    echo ----
    differing
    return "$(cat /run/code)"
}
