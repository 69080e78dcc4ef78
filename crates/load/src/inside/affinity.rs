//! The CPUs a thread may use, on machines of any size: rustix's set of them ends at 1,024.
use rustix::io::{Errno, Result};

/// The most CPUs a kernel is built for are 8,192.
const WORDS: usize = (1 << 16) / usize::BITS as usize;

/// The CPUs that this thread may use.
#[expect(unsafe_code, reason = "rustix's set of CPUs ends at 1,024")]
pub(super) fn usable_cpus() -> Result<Vec<usize>> {
    let this_thread: libc::c_long = 0;
    let mut mask = vec![0_usize; WORDS];
    // SAFETY: pointer and length describe one live array of words, which the kernel fills in from its beginning.
    let written = unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, this_thread, size_of_val(mask.as_slice()), mask.as_mut_ptr())
    };
    if written < 0 {
        return Err(last_error());
    }
    let word = usize::BITS as usize;
    Ok((0..WORDS * word).filter(|&cpu| mask[cpu / word] >> (cpu % word) & 1 == 1).collect())
}

/// Keeps this thread on one CPU.
#[expect(unsafe_code, reason = "rustix's set of CPUs ends at 1,024")]
pub(super) fn stay_on(cpu: usize) -> Result<()> {
    let this_thread: libc::c_long = 0;
    let word = usize::BITS as usize;
    let mut mask = vec![0_usize; cpu / word + 1];
    mask[cpu / word] = 1 << (cpu % word);
    // SAFETY: pointer and length describe one live array of words, which the kernel only reads.
    match unsafe {
        libc::syscall(libc::SYS_sched_setaffinity, this_thread, size_of_val(mask.as_slice()), mask.as_ptr())
    } {
        -1 => Err(last_error()),
        _ => Ok(()),
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_where_it_is_put() {
        let at = std::thread::spawn(|| {
            let cpus = usable_cpus().unwrap();
            stay_on(cpus[0]).unwrap();
            (usable_cpus().unwrap(), vec![cpus[0]], stay_on(WORDS * 8))
        });
        let (now, wanted, absent) = at.join().unwrap();
        assert_eq!((now, absent), (wanted, Err(Errno::INVAL)));
    }
}
