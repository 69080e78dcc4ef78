# Runs an emulator for an owner and outlives him: when the owner's end of our input closes, however that came about,
# the emulator is ended and its folder is removed. The folder's name is the first answer; at a line of input the emulator is
# started by the words in it, and its process is the second.
# usage: keeper.sh TEMPORARY-FOLDER
trap '' HUP INT PIPE TERM
folder=$(mktemp -d "$1/powerband-bench-XXXXXX") || exit 1
echo "$folder"
if read -r _; then
    eval "set -- $(cat "$folder/words")"
    # Where it may, somewhat before other processes: a kernel that starves complains.
    nice -n -5 "$@" </dev/null >"$folder/emulator.log" 2>&1 &
    echo $!
    read -r _
    kill -9 $!
    wait $!
fi
rm -rf "$folder"
