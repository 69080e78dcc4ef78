# Two boots of a Debian tree with systemd and udev in the emulator, whose two network cards are found by the kernel's own driver. Given: $P powerband,
# $TREE the tree, $KERNEL an image and $MODULES its folder of modules, $CARDS their number, $FIRST and $SECOND what runs in each
# boot. What the first one leaves in /etc and powerband's state folder is there in the second, as on a disk.
set -e
W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT
K=${MODULES##*/}
mkdir "$W/root"; cp -a "$TREE/." "$W/root/"; R=$W/root; U=$R/etc/systemd/system
mkdir -p "$R/lib/modules/$K"
for m in drivers/net/ethernet/intel/e1000e/e1000e drivers/ptp/ptp drivers/pps/pps_core; do
  [ ! -e "$MODULES/kernel/$m.ko" ] || install -D "$MODULES/kernel/$m.ko" "$R/lib/modules/$K/kernel/$m.ko"
done
cp "$MODULES"/modules.order "$MODULES"/modules.builtin* "$R/lib/modules/$K/"
chroot "$R" depmod "$K"
strip -o "$R/usr/local/bin/powerband" "$P"
ln -sf sbin/init "$R/init"
cat >"$U/run.service" <<'X'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
StandardOutput=file:/dev/ttyS1
StandardError=inherit
ExecStart=/bin/sh /run.sh
ExecStopPost=/bin/systemctl --no-block --force poweroff
X
mkdir -p "$U/multi-user.target.wants"; ln -sf ../run.service "$U/multi-user.target.wants/"
for s in getty@tty1.service serial-getty@ttyS0.service systemd-journal-flush.service; do ln -sf /dev/null "$U/$s"; done
(cd "$R" && find . | busybox cpio -o -H newc >"$W/tree.cpio" 2>/dev/null)

boot() {
  mkdir -p "$W/changed"; printf '%s\n' "$1" >"$W/changed/run.sh"
  (cd "$W/changed" && find . | busybox cpio -o -H newc >"$W/changed.cpio" 2>/dev/null)
  cat "$W/tree.cpio" "$W/changed.cpio" >"$W/all.cpio"
  cards=; n=0
  while [ $n -lt "$CARDS" ]; do
    cards="$cards -netdev user,id=n$n,restrict=on -device e1000e,netdev=n$n,mac=52:54:00:12:34:5$n"; n=$((n+1))
  done
  # shellcheck disable=SC2086
  timeout 500 qemu-system-x86_64 -accel tcg,thread=multi -m 1800 -smp 2 -nodefaults -nographic -no-reboot -kernel "$KERNEL" \
    -initrd "$W/all.cpio" -append "console=ttyS0 quiet systemd.show_status=0" -serial "file:$W/console" -serial "file:$W/told" \
    $cards >"$W/emulator" 2>&1 || { cat "$W/emulator" "$W/console"; exit 9; }
  tr -d '\r' <"$W/told" | sed '/^CHANGED$/,$d'
  tr -d '\r' <"$W/told" | sed '1,/^CHANGED$/d' | base64 -d 2>/dev/null | tar -C "$W/changed" -xf - 2>/dev/null || true
}

echo "== first"; boot "$FIRST
echo CHANGED; tar -C / -cf - etc var/lib/powerband | base64"
echo "== second"; boot "$SECOND"
