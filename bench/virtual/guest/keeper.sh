# Runs an emulator for an owner and outlives him: when the owner's end of our input closes, however that came about,
# the emulator is ended and its folder and control groups are removed.
# usage: keeper.sh FOLDER GROUP PROGRAM ARGUMENT…
trap '' HUP INT TERM
folder=$1 group=$2
shift 2
"$@" </dev/null >"$folder/emulator.log" 2>&1 &
echo $!
read -r _
kill -9 $!
wait $!
if [ -d "$group" ]; then
    find "$group" -depth -type d -exec rmdir {} +
fi
rm -rf "$folder"
