//! Open MPI's mpirun: what it starts is measured, and what it says itself is told from what that printed.
use powerband_record::Output;

/// Boxes of mpirun's begin and end with a line of at least so many dashes.
const DASHES: usize = 60;

fn is_edge(line: &str) -> bool {
    line.len() >= DASHES && line.bytes().all(|byte| byte == b'-')
}

/// A line such as `[node3:20657] 3 more processes have sent help message …`.
fn is_remark(line: &str) -> bool {
    let Some((at, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) else { return false };
    at.rsplit_once(':')
        .is_some_and(|(host, pid)| !host.is_empty() && !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit()))
}

/// Lines of standard error, each with whether mpirun wrote it.
fn told_apart(stderr: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut inside = false;
    stderr.lines().map(move |line| {
        let edge = is_edge(line);
        inside ^= edge;
        (line, edge || inside || is_remark(line))
    })
}

/// What was printed, without mpirun's boxes and remarks, so that no number is ever picked from them. They go to standard
/// error; what is on standard output is the program's.
pub(super) fn without_chatter(output: &Output) -> Output {
    let own: Vec<&str> = told_apart(&output.stderr).filter(|(_, theirs)| !theirs).map(|(line, _)| line).collect();
    let stderr = own.iter().flat_map(|line| [line, "\n"]).collect();
    Output { stderr, ..output.clone() }
}

/// The first sentences of mpirun's last box.
pub(super) fn complaint(stderr: &str) -> Option<String> {
    let lines: Vec<&str> = stderr.lines().collect();
    let edges: Vec<usize> = (0..lines.len()).filter(|&at| lines.get(at).is_some_and(|line| is_edge(line))).collect();
    let [.., from, to] = edges[..] else { return None };
    let words = lines.get(from + 1..to)?.iter().take_while(|line| !line.trim().is_empty()).map(|line| line.trim());
    let sentence = words.collect::<Vec<_>>().join(" ");
    (!sentence.is_empty()).then_some(sentence)
}
