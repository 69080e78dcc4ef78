#!/bin/sh
# Restores what a powerband that is gone has left set on this node. Name it in slurm.conf as Prolog= and as Epilog=: it may run
# for several jobs at once, and leaves alone what a powerband that lives holds.
#
# An exit code other than 0 makes Slurm drain the node, so only what is worth that is passed on: something that could not be
# restored (6).
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
unset POWERBAND_STATE_DIR
command -v powerband >/dev/null || exit 0
powerband undo --left >/dev/null
code=$?
case $code in
    6) logger -t powerband "job ${SLURM_JOB_ID:-?}: settings of an earlier job could not be restored" 2>/dev/null; exit 1 ;;
    *) exit 0 ;;
esac
