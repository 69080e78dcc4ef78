# Beside the shop: reads the numbers of its process groups, and once whoever writes them is gone, however that came, ends the
# groups and removes the folder, which is the first argument.
trap '' INT TERM HUP
groups=
while read -r group; do groups="$groups $group"; done
for group in $groups; do kill -KILL -- "-$group"; done 2>/dev/null
tries=0
while ! rm -rf -- "$1" 2>/dev/null && [ "$tries" -lt 200 ]; do
    tries=$((tries + 1))
    sleep 0.05
done
