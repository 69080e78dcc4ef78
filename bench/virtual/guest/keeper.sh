# Runs an emulator for an owner and outlives him: when the owner's end of our input closes, however that came about,
# the emulator is ended and its folder is removed.
# usage: keeper.sh FOLDER PROGRAM ARGUMENT…
trap '' HUP INT TERM
folder=$1
shift
"$@" </dev/null >"$folder/emulator.log" 2>&1 &
echo $!
read -r _
kill -9 $!
wait $!
rm -rf "$folder"
