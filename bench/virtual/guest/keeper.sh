# Runs an emulator for an owner and outlives him: when the owner's end of our input closes, however that came about,
# the emulator is ended and its folder is removed.
# usage: keeper.sh FOLDER ahead|equal PROGRAM ARGUMENT…
trap '' HUP INT TERM
folder=$1 rank=$2
shift 2
# A guest that paces itself leaves enough to everybody else. Without the right to go before others it does not.
if [ "$rank" = ahead ] && chrt -r 1 true 2>/dev/null; then
    set -- chrt -r 1 "$@"
fi
"$@" </dev/null >"$folder/emulator.log" 2>&1 &
echo $!
read -r _
kill -9 $!
wait $!
rm -rf "$folder"
