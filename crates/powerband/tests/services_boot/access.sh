# Runs in a booted system as root: what users of the access service meet, a line each. Alice (64101) has a rule, Bob (64102) has none.
G=/sys/devices/system/cpu/cpufreq/policy0/scaling_governor
governors() { cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor | sort | uniq -c | tr -s ' \n' ' '; }
as() { u=$1; shift; setpriv --reuid "$u" --regid "$u" --clear-groups env HOME="/home/$u" POWERBAND_SEED=1 powerband "$@"; }
until_so() { until eval "$1"; do sleep 0.1; done; }
main() { systemctl show -p MainPID --value powerband; }
before=$(governors)
same() { if [ "$(governors)" = "$before" ]; then echo "$1: as before"; else echo "$1: $(governors)"; fi; }
echo "unit: $(systemctl is-active powerband) $(systemctl is-enabled powerband)"
echo "folder: $(stat -c '%A %U %G' /run/powerband)"
echo "socket: $(stat -c '%A %U %G' /run/powerband/service.sock)"
echo "state: $(stat -c '%A %U %G' /var/lib/powerband)"
as 64101 --json try governor=performance,powersave --blocks 2 --settle 0s --load counter --for 100ms >/tmp/tried 2>&1
echo "try: $? $(grep -c '"state": "ended"' /tmp/tried)"
same "after try"
echo "with: $(as 64101 with governor=powersave -- sh -c "cat $G; id -u" 2>/dev/null | tr '\n' ' ')"
as 64102 with governor=powersave -- true >/tmp/bob 2>&1; echo "bob: $?"
same "after bob"
as 64101 set governor=powersave >/tmp/set 2>&1 & S=$!
until_so "grep -q 'holds this until' /tmp/set"
echo "set: $(governors)"
old=$(main); kill -9 "$old"
wait $S; echo "the user's powerband: $?"
until_so 'systemctl -q is-active powerband && [ "$(main)" != "$old" ]'
echo "restarts: $(systemctl show -p NRestarts --value powerband)"
same "after the kill"
echo "left: $(powerband undo --list)"
echo "again: $(as 64101 with governor=powersave -- cat $G 2>/dev/null)"
same "in the end"
