#!/bin/busybox sh
# The guest's first process: mounts, modules, disk, cable; then it runs what comes through the port, a request at a time.
#
# A request is one line, a script in hexadecimal. The answer is one line: exit code, standard output, standard error,
# the two in hexadecimal. `ready` is said once a boot. A second port leads to an agent, see `serve`.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root LANG=C.UTF-8
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup

while read -r module; do
    case $module in e1000e*) mode=IntMode=1 ;; *) mode= ;; esac
    insmod "/modules/$module" $mode || echo "guest: cannot load $module"
done </modules/order

# The value of a word of the kernel's command line.
told() {
    for word in $(cat /proc/cmdline); do
        case $word in "$1="*) echo "${word#*=}" ;; esac
    done
}

# Waits a while for what a driver brings.
wait_for() {
    tries=0
    until [ -e "$1" ]; do
        tries=$((tries + 1))
        [ $tries -gt 300 ] && { echo "guest: no $1"; return 1; }
        sleep 0.1
    done
}

ip link set lo up
if [ -n "$(told bench.address)" ]; then
    wait_for /sys/class/net/eth0 && ip addr add "$(told bench.address)" dev eth0 && ip link set eth0 up
fi
if [ "$(told bench.disk)" = 1 ]; then
    wait_for /dev/vda && mount -t ext4 /dev/vda /var/lib
fi

if [ -e /script ]; then
    echo "bench: begin"
    sh /script
    echo "bench: end $?"
    poweroff -f
fi

# An agent for whoever connects to the second port, one after the other. What is read there does not tell one who comes from
# one who was there before: each says words that are repeated until he hears the last, and with `go` an agent takes over.
serve() {
    while true; do
        {
            # Waits until somebody is connected; a read would give the end of the file at once. An owner whose agent has just
            # died, or whose machine has booted, cannot make sense of it and so learns of that.
            echo 'an agent comes when called' >&4
            while read -r word <&4; do
                printf '\n%s\n' "$word" >&4
                if [ "$word" = go ]; then
                    powerband agent <&4 >&4 4>&-
                    break
                fi
            done
        } 4<>/dev/vport0p2 || sleep 0.2
    done
}

# The same over the cable, where a connection is one.
if [ -e /sys/class/net/eth0 ]; then
    nc -ll -p 7421 -e powerband agent </dev/null >/dev/null 2>>/run/agents &
fi

wait_for /dev/vport0p2 && serve </dev/null >/dev/null 2>>/run/agents &
wait_for /dev/vport0p1
exec 3<>/dev/vport0p1
echo ready >&3
while read -r request <&3; do
    echo "$request" | xxd -r -p >/run/request
    sh /run/request >/run/out 2>/run/err </dev/null 3>&-
    code=$?
    { echo -n "$code "; xxd -p /run/out | tr -d '\n'; echo -n ' '; xxd -p /run/err | tr -d '\n'; echo; } >&3
done
echo "guest: the port is closed"
poweroff -f
