# What may set a governor, each by its own configuration: in a tree at $R from outside, or with R empty in the system that runs there.
U=$R/etc/systemd/system
none() {
  rm -f "$U"/multi-user.target.wants/* "$U"/*.wants/tlp* "$R"/etc/tlp.d/10-mine.conf "$R"/etc/tuned/active_profile
  rm -f "$R"/etc/rc?.d/S??cpufrequtils "$R"/etc/rc?.d/S??loadcpufreq "$R"/etc/rc?.d/S??tlp "$R"/etc/rc?.d/S??cpuspeed
  ln -sf ../run.service "$U/multi-user.target.wants/"
}
enable() {
  if [ -e "$U/$1.service" ]; then at=../$1.service; else at=/lib/systemd/system/$1.service; fi
  ln -sf "$at" "$U/multi-user.target.wants/$1.service"
}
started() { for l in 2 3 4 5; do ln -sf "../init.d/$1" "$R/etc/rc$l.d/S01$1"; done; }
governor_of_tuned() {
  mkdir -p "$R/etc/tuned/mine"
  printf '[main]\nsummary=mine\n[cpu]\ngovernor=%s\n' "$1" >"$R/etc/tuned/mine/tuned.conf"
  echo mine >"$R/etc/tuned/active_profile"; echo manual >"$R/etc/tuned/profile_mode"
  enable tuned
}
governor_of_tlp() {
  printf 'CPU_SCALING_GOVERNOR_ON_AC=%s\nCPU_SCALING_GOVERNOR_ON_BAT=%s\n' "$1" "$1" >"$R/etc/tlp.d/10-mine.conf"
  enable tlp
}
governor_of_cpufrequtils() {
  printf 'ENABLE="true"\nGOVERNOR="%s"\n' "$1" >"$R/etc/default/cpufrequtils"
  started cpufrequtils
}
governor_of_cpupower() {
  echo "governor='$1'" >"$R/etc/default/cpupower"
  printf '[Service]\nType=oneshot\nRemainAfterExit=yes\nEnvironmentFile=/etc/default/cpupower\nExecStart=/usr/bin/cpupower frequency-set -g $governor\n[Install]\nWantedBy=multi-user.target\n' >"$U/cpupower.service"
  enable cpupower
}
governor_of_cpuspeed() {
  mkdir -p "$R/etc/sysconfig"; echo "GOVERNOR=$1" >"$R/etc/sysconfig/cpuspeed"
  cat >"$R/etc/init.d/cpuspeed" <<'Y'
#!/bin/sh
### BEGIN INIT INFO
# Provides: cpuspeed
# Required-Start: $local_fs
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
[ "$1" = start ] || exit 0
. /etc/sysconfig/cpuspeed
for f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo ${GOVERNOR:-ondemand} >$f; done
Y
  chmod +x "$R/etc/init.d/cpuspeed"
  started cpuspeed
}
governor_of_thermald() { enable thermald; }
governor_of_irqbalance() { enable irqbalance; }
governor_of_NetworkManager() { enable NetworkManager; }
governor_of_networkd() { enable systemd-networkd; }
governor_of_power_profiles() { enable power-profiles-daemon; }

# In the system that runs.
timer() { systemctl show -p "$1" --value powerband-keep.timer; }
# The daemons that run have acted: all jobs are done but ours, and tuned, which acts later, has said so.
acted() {
  ! systemctl list-jobs --no-legend | grep -qvE 'run\.service|powerband-check' || return 1
  ! systemctl -q is-active tuned || grep -qs 'static tuning from profile' /var/log/tuned/tuned.log
}
# What is kept has been set again, after the daemons have acted; what is kept in their own configuration they have set.
kept_again() {
  over=$(timer SubState)
  until acted; do sleep 0.1; done
  [ -e /etc/systemd/system/powerband-keep.timer ] || return 0
  [ "$(timer ActiveState)" = active ] || { echo 'its timer does not run'; exit; }
  # They were slower than what is kept: it has its time from now.
  [ "$over" != elapsed ] || systemctl restart powerband-keep.timer
  until [ "$(timer SubState)" = elapsed ] && ! systemctl -q is-active powerband-keep.service; do sleep 0.1; done
}
# Others in the place of those that set a governor now; what starts in a boot is started here.
instead() {
  powerband unkeep >/dev/null
  systemctl -q stop tuned tlp; none; rm -f /var/log/tuned/tuned.log
  for d in "$1" "$2"; do governor_of_$d "$3"; done
  systemctl daemon-reload; systemctl -q start "$1" "$2"
  until acted; do sleep 0.1; done
}
