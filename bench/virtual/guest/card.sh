# Boots of a Debian tree with systemd and udev in the emulator, from one disk, with two network cards found by the kernel's own driver.
# Given: $P powerband, $TREE the tree, $KERNEL an image and $MODULES its folder of modules; the arguments are what runs in each boot.
# As long as /hidden is on the disk the second card is pulled out before the system begins; a scan of the bus finds it again.
set -e
W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT
K=${MODULES##*/} R=$W/root I=$W/first U=$W/root/etc/systemd/system
mkdir "$R"; cp -a "$TREE/." "$R/"; touch "$R/hidden"
for m in drivers/net/ethernet/intel/e1000e/e1000e drivers/ptp/ptp drivers/pps/pps_core drivers/block/virtio_blk drivers/virtio/virtio_pci \
  drivers/virtio/virtio_pci_modern_dev drivers/virtio/virtio_pci_legacy_dev drivers/virtio/virtio drivers/virtio/virtio_ring \
  fs/ext4/ext4 fs/jbd2/jbd2 fs/mbcache lib/crc16 crypto/crc32c_generic; do
  [ ! -e "$MODULES/kernel/$m.ko" ] || install -D "$MODULES/kernel/$m.ko" "$R/lib/modules/$K/kernel/$m.ko"
done
cp "$MODULES"/modules.order "$MODULES"/modules.builtin* "$R/lib/modules/$K/"
chroot "$R" depmod "$K"
strip -o "$R/usr/local/bin/powerband" "$P"
cat >"$U/run.service" <<'X'
[Unit]
After=systemd-udev-settle.service
Wants=systemd-udev-settle.service
[Service]
Type=oneshot
StandardOutput=file:/dev/ttyS1
StandardError=inherit
ExecStart=/bin/sh /run.sh
ExecStopPost=/bin/systemctl --no-block --force poweroff
X
for s in systemd-journal-flush systemd-hwdb-update systemd-machine-id-commit systemd-random-seed systemd-binfmt e2scrub_reap; do
  ln -sf /dev/null "$U/$s.service"
done

mkdir -p "$I/bin" "$I/modules" "$I/dev" "$I/proc" "$I/sys" "$I/root"; cp /bin/busybox "$I/bin/"
chroot "$R" modprobe -S "$K" -a --show-depends virtio_pci virtio_blk crc32c_generic ext4 | sed -n 's/^insmod //p' | while read -r m; do
  cp "$R$m" "$I/modules/"; echo "/bin/busybox insmod /modules/${m##*/}"
done >"$I/load"
cat >"$I/init" <<'X'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc; /bin/busybox mount -t sysfs sysfs /sys; /bin/busybox mount -t devtmpfs devtmpfs /dev
. /load
until [ -e /dev/vda ]; do /bin/busybox sleep 0.05; done
/bin/busybox mount -t ext4 /dev/vda /root
[ ! -e /root/hidden ] || echo 1 >/sys/bus/pci/devices/0000:00:03.0/remove
/bin/busybox umount /proc /sys /dev
exec /bin/busybox switch_root /root /sbin/init
X
chmod +x "$I/init"
(cd "$I" && find . | busybox cpio -o -H newc >"$W/first.cpio" 2>/dev/null)

disk=$W/disk
PATH=$PATH:/usr/sbin:/sbin
truncate -s 600M "$disk"
mke2fs -q -t ext4 -d "$R" "$disk"
for script; do
  printf '%s\n' "$script" >"$W/run.sh"
  debugfs -w -f - "$disk" >/dev/null 2>&1 <<X
rm /run.sh
write $W/run.sh run.sh
X
  timeout 900 qemu-system-x86_64 -accel tcg,thread=multi -m 512 -smp 2 -nodefaults -nographic -no-reboot -kernel "$KERNEL" \
    -initrd "$W/first.cpio" -append "console=ttyS0 quiet mitigations=off no_timer_check systemd.show_status=0 systemd.unit=run.service" \
    -serial "file:$W/console" -serial "file:$W/told" \
    -netdev user,id=n0,restrict=on -device e1000e,netdev=n0,romfile=,mac=52:54:00:12:34:50,addr=2 \
    -netdev user,id=n1,restrict=on -device e1000e,netdev=n1,romfile=,mac=52:54:00:12:34:51,addr=3 \
    -drive "file=$disk,if=virtio,format=raw" >"$W/emulator" 2>&1 || { cat "$W/emulator" "$W/console"; exit 9; }
  echo "== boot"
  tr -d '\r' <"$W/told"
done
