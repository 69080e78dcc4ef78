# Said to the shell at the far end, once: what it does for us there. POSIX, as busybox's ash and dash both have it.
# Answers go to descriptor 3. <…> is one field, its bytes encoded; the near side knows what comes in which order.

# Encodes what comes.
pb_e() {
  printf '<'
  case $pb_code in
    od) od -An -v -tx1 ;;
    hexdump) hexdump -v -e '1/1 "%02x "' ;;
    base64) base64 ;;
  esac
  printf '>'
}

# A short text as a field.
pb_t() {
  if [ -n "$1" ]; then printf %s "$1" | pb_e >&3; else printf '<>' >&3; fi
}

# What a program prints, and what it complains of.
pb_x() {
  pb_w=$( { "$@" </dev/null 2>&4 | pb_e >&3; } 4>&1 )
  pb_t "$pb_w"
}

# A file's bytes, and why not. Nobody waits for the other end of a named pipe.
pb_r() {
  if [ -d "$1" ]; then printf '<>' >&3; pb_t 'Is a directory'
  elif [ -p "$1" ]; then printf '<>' >&3; pb_t 'Operation not supported'
  else pb_x head -c 1048577 -- "$1"
  fi
}

# A path without links on its way.
pb_l() {
  pb_x readlink -f -- "$1"
}

# What a device's driver answers ethtool, and why it does not.
pb_co() {
  if command -v ethtool >/dev/null; then pb_x env LC_ALL=C ethtool -c "$1"
  else printf '<>' >&3; pb_t 'Function not implemented'
  fi
}

# The names in a folder with d before a folder's and f before others, and what ls tells of their modes.
pb_ls() {
  for pb_f in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    if [ -d "$pb_f" ]; then printf 'd%s\0' "${pb_f##*/}"
    elif [ -e "$pb_f" ] || [ -L "$pb_f" ]; then printf 'f%s\0' "${pb_f##*/}"
    fi
  done | pb_e >&3
  pb_x ls -lnLa "$1/"
}

# Whether a file has capabilities, which a write would take from it; where no program prints them, nothing is known of any.
pb_able() {
  case $1 in /proc/* | /sys/*) return 1 ;; esac
  [ -f "$1" ] && [ -n "$(PATH=$PATH:/sbin:/usr/sbin; getcap "$1" || getfattr -n security.capability "$1")" ]
}

# Writes a text as one command. cat tells why not; a shell's own printf may not.
pb_put() {
  pb_w=
  if [ -p "$1" ] || pb_able "$1"; then pb_w='Operation not supported'; return 1; fi
  pb_w=$( { printf %s "$2" | cat >"$1"; } 2>&1 )
}

# Makes a file and its name survive a power cut. A sync that takes names says when that fails; another syncs everything.
pb_s() {
  if [ -z "$pb_named" ]; then if sync / ; then pb_named=yes; else pb_named=no; fi; fi
  case $pb_named in
    yes) sync "$1" "${1%/*}/" ;;
    *) sync ;;
  esac || { pb_w='Input/output error'; return 1; }
}

# A program, its words, at most 10 s: its exit status in pb_c, what it printed in pb_w.
pb_do() {
  rm -f "$pb_tmp/late"
  "$@" >"$pb_tmp/do" 2>&1 </dev/null 3>&- &
  pb_p=$!
  ( sleep 10; : >"$pb_tmp/late"; kill -9 $pb_p ) >/dev/null 2>&1 3>&- &
  pb_k=$!
  wait $pb_p
  pb_c=$?
  kill $pb_k
  if [ -e "$pb_tmp/late" ]; then pb_c=late; fi
  pb_w=$(head -c 4096 "$pb_tmp/do")
}

# Who we are: number and start, also in a subshell.
pb_self() {
  read -r pb_l </proc/self/stat
  pb_me=${pb_l%% *}
  set -- ${pb_l##*) }
  pb_born=${20}
}

# Whether that very process lives.
pb_alive() {
  { read -r pb_l <"/proc/$1/stat"; } || return 1
  pb_b=$2
  set -- ${pb_l##*) }
  case $1 in Z | X) return 1 ;; esac
  [ "${20}" = "$pb_b" ]
}

# A folder of ours alone.
pb_ours() {
  [ -d "$1" ] && [ -w "$1" ] && [ ! -L "$1" ] || return 1
  pb_l=$(ls -ldn "$1")
  set -- $pb_l
  case $1 in drwx------*) [ "$3" = "$pb_uid" ] ;; *) return 1 ;; esac
}

# Whether nobody else can put another folder in the place of one of root's: every folder above it is root's, and root alone may write
# there. In one with the sticky bit, as /tmp, others touch none of ours.
pb_safe() {
  [ "$pb_uid" = 0 ] || return 0
  pb_b=$1
  while :; do
    pb_l=$(ls -ldn "${pb_b:-/}") || return 1
    set -- $pb_l
    case $3:$1 in
      0:d????????[tT]*) ;;
      0:d???????w*) return 1 ;;
      0:d????w*) [ "$4" = 0 ] || return 1 ;;
      0:d*) ;;
      *) return 1 ;;
    esac
    [ -n "$pb_b" ] || return 0
    pb_b=${pb_b%/*}
  done
}

# The folder of the ledger, by its path without links: the first of these that is there, or can be made.
pb_find() {
  pb_d=
  if [ -n "$POWERBAND_STATE_DIR" ]; then set -- "$1" "$POWERBAND_STATE_DIR/sh"
  elif [ "$pb_uid" = 0 ]; then set -- "$1" /var/lib/powerband/sh "${TMPDIR:-/tmp}/powerband-sh-0"
  else set -- "$1" "${XDG_STATE_HOME:-${HOME:-/nowhere}/.local/state}/powerband/sh" "${TMPDIR:-/tmp}/powerband-sh-$pb_uid"
  fi
  pb_how=$1
  shift
  for pb_f in "$@"; do
    if [ "$pb_how" = make ] && [ ! -e "$pb_f" ]; then
      mkdir -p "${pb_f%/*/*}"
      [ -d "${pb_f%/*}" ] || mkdir -m 700 "${pb_f%/*}"
      mkdir -m 700 "$pb_f"
    fi
    pb_ours "$pb_f" || continue
    pb_d=$(cd -P "$pb_f" && pwd -P) && pb_safe "$pb_d" && return 0
    pb_d=
  done
  return 1
}

# Who holds the folder, if that one lives; pb_h is its process, pb_q a sentence.
pb_holder() {
  pb_h= pb_hs= pb_hb= pb_q=
  { read -r pb_h pb_hs pb_hb; IFS= read -r pb_q; } <"$pb_d/lock/who"
  [ -n "$pb_h" ] && [ "$pb_hb" = "$pb_boot" ] && pb_alive "$pb_h" "$pb_hs"
}

pb_name() {
  printf '%s %s %s\n%s\n' "$pb_me" "$pb_born" "$pb_boot" "$1" >"$pb_d/lock/who.new"
  mv "$pb_d/lock/who.new" "$pb_d/lock/who"
}

# Takes the lock with a sentence. One whose holder is gone goes to whoever makes the folder "taken" in it first and
# finds it still so; a holder that is soon done is waited for.
pb_lock() {
  pb_i=0
  while [ "$pb_i" -lt 9 ]; do
    if mkdir -m 700 "$pb_d/lock"; then pb_name "$1"; return 0; fi
    if pb_holder; then
      case $pb_q in soon*) ;; *) return 1 ;; esac
    elif [ -n "$pb_h" ] || [ "$pb_i" -ge 3 ]; then
      if [ "$pb_i" -ge 6 ]; then rmdir "$pb_d/lock/taken"; fi
      if mkdir "$pb_d/lock/taken"; then
        if pb_holder; then rmdir "$pb_d/lock/taken"; continue; fi
        pb_name "$1"
        rmdir "$pb_d/lock/taken"
        return 0
      fi
    fi
    pb_i=$((pb_i + 1))
    sleep 1
  done
  return 1
}

# Kills the loads whose names are in a folder: the group, and whoever else is of the session.
pb_kill() {
  for pb_f in "$1"/load.*; do
    pb_p= pb_s=
    { read -r pb_p pb_s <"$pb_f"; } || continue
    pb_alive "$pb_p" "$pb_s" || continue
    kill -9 "-$pb_p" || kill -9 "$pb_p"
    for pb_o in /proc/[0-9]*/stat; do
      { read -r pb_l <"$pb_o"; } || continue
      set -- ${pb_l##*) }
      if [ "$4" = "$pb_p" ]; then kill -9 "${pb_l%% *}"; fi
    done
  done
}

# For us alone: the lock, what an earlier owner left of itself, a place for short-lived things. A hang-up in the middle is
# found at our input's end, when everything that was made can be removed.
pb_own() {
  trap '' HUP PIPE TERM
  pb_lock "$1" || { trap - HUP PIPE TERM; return 1; }
  for pb_k in "$pb_d"/held.*; do
    [ -d "$pb_k" ] || continue
    pb_kill "$pb_k"
    pb_l=
    { IFS= read -r pb_l <"$pb_k/place"; }
    case $pb_l in */powerband-sh.??????) pb_remove "$pb_l" ;; esac
    rm -rf "$pb_k"
  done
  pb_g=$pb_d/held.$pb_me
  mkdir -m 700 "$pb_g" || { rm -rf "$pb_d/lock"; trap - HUP PIPE TERM; return 4; }
  pb_tmp=$(mktemp -d "${TMPDIR:-/tmp}/powerband-sh.XXXXXX") || { pb_tmp=$pb_g/tmp; mkdir "$pb_tmp"; }
  printf '%s\n' "$pb_tmp" >"$pb_g/place"
  trap pb_ended EXIT
  # A signal that comes when the shell has begun to exit ends the trap of EXIT too, so it cleans up itself.
  trap 'pb_ended; exit 1' HUP PIPE TERM
  pb_main=$pb_me pb_mborn=$pb_born pb_ward=
  echo 0 15 >"$pb_g/lease"
}

# Removes a folder in which a load that was just ended may still write a last file.
pb_remove() {
  rm -rf "$1"
  if [ -e "$1" ]; then sleep 1; rm -rf "$1"; fi
}

# Lets go of everything, when nothing is held or all is back.
pb_leave() { pb_remove "$pb_tmp"; rm -rf "$pb_g" "$pb_d/lock"; pb_g=; }

# Our input has ended. Without a watchdog nobody else would remove what is ours; what the ledger has open, the next one restores.
pb_ended() { if [ -n "$pb_g" ] && [ -z "$pb_ward" ]; then pb_kill "$pb_g"; pb_leave; fi; }

# The end of a watchdog that has nothing to restore: the ledger's folder may have been removed together with our own.
pb_idle() {
  while [ -e "$pb_tmp" ] && pb_alive "$pb_main" "$pb_mborn"; do sleep 1; done
  pb_remove "$pb_tmp"
  exit 0
}

# The watchdog: while the owner lives and renews its lease it only sleeps. Its folder gone means farewell.
pb_guard() {
  trap '' HUP INT QUIT TERM PIPE
  pb_self
  cd /
  echo -1000 >/proc/self/oom_score_adj || echo 0 >/proc/self/oom_score_adj
  echo "$pb_me $pb_born"
  exec </dev/null >/dev/null 2>&1 3>&-
  pb_n=0 pb_was=
  while pb_alive "$pb_main" "$pb_mborn"; do
    [ -d "$pb_g" ] || pb_idle
    pb_now= pb_for=
    { read -r pb_now pb_for <"$pb_g/lease"; }
    if [ "$pb_now" = "$pb_was" ]; then pb_n=$((pb_n + 1)); else pb_n=0 pb_was=$pb_now; fi
    if [ "$pb_n" -gt "${pb_for:-15}" ]; then kill -9 "$pb_main"; fi
    if [ "$pb_n" -gt "$((${pb_for:-15} + 2))" ]; then break; fi
    sleep 1
  done
  [ -d "$pb_g" ] || pb_idle
  pb_kill "$pb_g"
  pb_lock "soon putting back what powerband left there" || pb_idle
  if [ -d "$pb_g" ]; then pb_back; fi
  pb_leave
  exit 0
}

# Puts back what is held, newest first.
pb_back() {
  pb_j=0 pb_low=
  for pb_f in "$pb_g"/undo.*; do
    pb_f=${pb_f##*.}
    case $pb_f in *[!0-9]*) continue ;; esac
    if [ "$pb_f" -gt "$pb_j" ]; then pb_j=$pb_f; fi
    if [ -z "$pb_low" ] || [ "$pb_f" -lt "$pb_low" ]; then pb_low=$pb_f; fi
  done
  while [ "$pb_j" -ge "${pb_low:-1}" ]; do
    if [ -f "$pb_g/undo.$pb_j" ]; then . "$pb_g/undo.$pb_j"; fi
    pb_j=$((pb_j - 1))
  done
}

# What an undo says: a file gets its old text, unless it reads so.
pb_old() {
  [ "$(cat -- "$1")" = "$(printf %s "$2")" ] && return 0
  pb_put "$1" "$2" || return 1
  case $1 in /proc/* | /sys/*) ;; *) pb_s "$1" ;; esac
}

# Writes into the ledger that an entry is closed, unless the owner died in the middle of a line.
pb_close() {
  [ -z "$(tail -c 1 "$pb_d/ledger")" ] || return 1
  printf '%s\n' "$1" >>"$pb_d/ledger"
  pb_s "$pb_d/ledger"
}

# Sees to it that a watchdog lives: in a session of its own where that can be had.
pb_ensure() {
  if [ -n "$pb_ward" ] && pb_alive ${pb_ward}; then return 0; fi
  printf '%s\n' "$pb_src" 'pb_d=$1 pb_g=$2 pb_tmp=$3 pb_main=$4 pb_mborn=$5 pb_boot=$6' pb_guard >"$pb_g/watch" || return 1
  pb_ward=
  if [ -n "$pb_setsid" ]; then
    pb_ward=$(setsid sh "$pb_g/watch" "$pb_d" "$pb_g" "$pb_tmp" "$pb_main" "$pb_mborn" "$pb_boot" 3>&- &)
  fi
  if [ -z "$pb_ward" ]; then pb_ward=$(pb_guard 3>&- &); fi
  [ -n "$pb_ward" ]
}

# The clock of the boot in hundredths, and a finer one where there is one: date knows it, or the kernel's list of timers.
pb_clock() {
  read -r pb_up pb_l </proc/uptime
  pb_fine=$(date +%s%N)
  case $pb_fine in
    '' | *[!0-9]*) pb_fine='?' ;;
    *) return ;;
  esac
  { while read -r pb_l; do
    case $pb_l in 'now at '*) pb_fine=${pb_l#now at } pb_fine=${pb_fine% nsecs}; break ;; esac
  done; } </proc/timer_list
}

# A load: its number, the group it joins or nothing, its words. Tells its end by itself.
pb_load() {
  pb_n=$1 pb_o=$pb_tmp/load.$1 pb_cg=$2
  shift 2
  pb_self
  echo "$pb_me $pb_born" >"$pb_g/waits.$pb_n"
  pb_during "$pb_n"
  pb_around "$pb_n"
  pb_clock
  pb_began="$pb_up $pb_fine"
  (
    pb_self
    echo "$pb_me $pb_born" >"$pb_g/load.$pb_n"
    if [ -n "$pb_cg" ]; then echo 0 >"$pb_cg/cgroup.procs" || exit 126; fi
    if [ -n "$pb_lc" ]; then LC_ALL=$pb_lc; else unset LC_ALL; fi
    exec 3>&-
    exec $pb_setsid "$@"
  ) </dev/null >"$pb_o.out" 2>"$pb_o.err"
  pb_c=$?
  times >"$pb_o.times"
  pb_clock
  pb_ended="$pb_up $pb_fine"
  pb_around "$pb_n"
  rm -f "$pb_tmp/watch.$pb_n.on"
  mv "$pb_g/load.$pb_n" "$pb_g/left.$pb_n"
  { read -r pb_l; read -r pb_l; } <"$pb_o.times"
  printf '[%s E %s %s %s %s %s]\n' "$pb_m" "$pb_n" "$pb_c" "$pb_began" "$pb_ended" "$pb_l" >&3
  rm -f "$pb_g/waits.$pb_n"
}

# Ends the loads whose own shell was killed, which can tell nothing of their end any more, and tells it.
pb_check() {
  for pb_f in "$pb_g"/waits.*; do
    pb_p= pb_s=
    { read -r pb_p pb_s <"$pb_f"; } || continue
    pb_alive "$pb_p" "$pb_s" && continue
    pb_n=${pb_f##*.}
    pb_end "$pb_n" KILL
    mv "$pb_g/load.$pb_n" "$pb_g/left.$pb_n"
    rm -f "$pb_f" "$pb_tmp/watch.$pb_n.on"
    pb_clock
    printf '[%s E %s 137 %s 0m0s 0m0s]\n' "$pb_m" "$pb_n" "$pb_up $pb_fine $pb_up $pb_fine" >&3
  done
}

# Who lives in the sessions of loads that have ended, in pb_w. A session's number goes to no new process while anybody is
# in it, so one that is a process's again has nobody.
pb_left() {
  pb_w= pb_ss=
  for pb_f in "$pb_g"/left.*; do
    { read -r pb_p pb_s <"$pb_f"; } || continue
    [ -e "/proc/$pb_p" ] || pb_ss="$pb_ss $pb_p "
  done
  [ -n "$pb_ss" ] || return 0
  for pb_f in /proc/[0-9]*/stat; do
    { read -r pb_l <"$pb_f"; } || continue
    pb_p=${pb_l%% *}
    set -- ${pb_l##*) }
    case $1 in Z | X) continue ;; esac
    case $pb_ss in *" $4 "*) pb_w="$pb_w $pb_p" ;; esac
  done
}

# Ends them: asks, and kills those that are there a second later. Who is left then is in pb_w.
pb_clear() {
  kill -TERM $pb_w
  pb_left
  for pb_s in TERM KILL KILL; do
    if [ -z "$pb_w" ]; then break; fi
    sleep 1
    pb_left
    if [ -n "$pb_w" ]; then kill -$pb_s $pb_w; fi
  done
  pb_left
  rm -f "$pb_g"/left.*
}

# Signals a load and its group.
pb_end() {
  pb_p=
  { read -r pb_p pb_s <"$pb_g/load.$1"; } || return 0
  pb_alive "$pb_p" "$pb_s" || return 0
  kill "-$2" "-$pb_p" || kill "-$2" "$pb_p"
}

# Reads once what the load of a number watches, at one of its watches, as a sample.
pb_look() {
  pb_clock
  echo "@$pb_up $pb_fine"
  while IFS= read -r pb_f; do
    pb_l=
    if { IFS= read -r pb_l || [ -n "$pb_l" ]; } <"$pb_f"; then printf '=%s\n' "$pb_l"; else echo '!'; fi
  done <"$1.files"
}

# Reads all watches of a load once.
pb_around() {
  for pb_w in "$pb_tmp/watch.$1".*.files; do
    [ -e "$pb_w" ] && pb_look "${pb_w%.files}" >>"${pb_w%.files}.around"
  done
}

# Reads the watches of a load that have a period, until its file "on" is gone.
pb_during() {
  for pb_w in "$pb_tmp/watch.$1".*.period; do
    [ -e "$pb_w" ] || continue
    : >"$pb_tmp/watch.$1.on"
    (
      exec 3>&-
      read -r pb_s <"$pb_w"
      while [ -e "$pb_tmp/watch.$1.on" ] && pb_alive "$pb_main" "$pb_mborn"; do
        sleep "$pb_s"
        pb_look "${pb_w%.period}"
      done >"${pb_w%.period}.during"
    ) &
  done
}

# Control groups with a quota: version 1 where it has the cpu controller, else 2; below the top.
pb_top() {
  pb_top= pb_v=2
  while read -r pb_l pb_o pb_f pb_p pb_k; do
    case $pb_f,$pb_p, in
      cgroup,*,cpu,*) pb_top=$pb_o pb_v=1; break ;;
      cgroup2,*) pb_top=$pb_o ;;
    esac
  done </proc/self/mounts
  if [ -z "$pb_top" ]; then pb_w='Operation not supported'; return 1; fi
}

pb_group() {
  pb_top || return 1
  if [ $pb_v = 2 ]; then
    pb_w='Operation not supported'
    case " $(cat "$pb_top/cgroup.controllers") " in *' cpu '*) ;; *) return 1 ;; esac
    pb_put "$pb_top/cgroup.subtree_control" +cpu || return 1
  fi
  pb_w=$(mkdir "$pb_top/$1" 2>&1) || return 1
  if [ $pb_v = 2 ]; then pb_put "$pb_top/$1/cpu.max" "$2 $3"
  else pb_put "$pb_top/$1/cpu.cfs_period_us" "$3" && pb_put "$pb_top/$1/cpu.cfs_quota_us" "$2"
  fi || { rmdir "$pb_top/$1"; return 1; }
}

pb_ungroup() {
  pb_top || return 1
  pb_w='No such file or directory'
  [ -d "$pb_top/$1" ] || return 1
  pb_i=0
  while [ "$pb_i" -lt 50 ] && ! pb_w=$(rmdir "$pb_top/$1" 2>&1); do
    while read -r pb_p; do kill -9 "$pb_p"; done <"$pb_top/$1/cgroup.procs"
    pb_i=$((pb_i + 1))
  done
  [ ! -d "$pb_top/$1" ]
}

# The end of an answer; every one renews the lease.
pb_z() {
  printf '[%s R %s %s]\n' "$pb_m" "$1" "$2" >&3
  if [ -n "$pb_g" ]; then echo "$1 $pb_for" >"$pb_g/lease"; fi
}
