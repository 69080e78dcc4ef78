//! What the tools printed, several versions of each and broken ones: the right values, or the reason why there are none.
use powerband_machine::Finished;
use powerband_record::{ExitStatus, Output, Usage};

use super::*;

mod perf;

/// What one of the files in `printed` holds.
macro_rules! printed {
    ($name:literal) => {
        include_str!(concat!("printed/", $name))
    };
}

fn argv(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn finished(stdout: &str, stderr: &str) -> Finished {
    let output = Output { stdout: stdout.into(), stderr: stderr.into(), cut: false };
    let usage = Usage { real_ns: 60_000_000_000, ..Usage::default() };
    Finished { status: ExitStatus::Code(0), usage, report: None, output, around: Vec::new() }
}

/// What is read of a command's output.
fn read(line: &str, stdout: &str) -> Result<Reading, String> {
    read_both(line, stdout, "")
}

fn read_both(line: &str, stdout: &str, stderr: &str) -> Result<Reading, String> {
    let driver = driver(&argv(line), Reads::Auto).unwrap_or_else(|| panic!("nothing reads {line}"));
    let reading = driver.read(&finished(stdout, stderr))?;
    let promised: Vec<&String> = driver.metrics().iter().map(|metric| &metric.name).collect();
    for name in &promised {
        let (there, why) = (reading.values.contains_key(*name), reading.missing.contains_key(*name));
        assert!(there != why, "{line}: {name} is either there or explained: {reading:?}");
    }
    Ok(reading)
}

/// Some of the values, by name.
#[track_caller]
fn assert_values<const N: usize>(reading: &Reading, wanted: [(&str, f64); N]) {
    for (name, value) in wanted {
        let got = reading.values.get(name).copied().unwrap_or_else(|| panic!("no {name} in {reading:?}"));
        assert!((got - value).abs() <= 1e-6 * value.abs(), "{name} is {got}, not {value}");
    }
}

#[track_caller]
fn assert_void(line: &str, stdout: &str, words: &str) {
    let why = read(line, stdout).expect_err("this is no measurement");
    assert!(why.contains(words), "'{why}' says nothing of '{words}'");
    assert!(!why.contains('\n') && !why.ends_with('.'), "one sentence: '{why}'");
}

/// What is read is void for what was lost, and says how much that is.
#[track_caller]
fn assert_lossy(line: &str, stdout: &str, percent: f64, words: &str) {
    let reading = read(line, stdout).unwrap();
    let Some(Void::Lossy { lost_percent, why }) = reading.as_lossy() else { panic!("not void: {reading:?}") };
    assert!((lost_percent - percent).abs() < 1e-9 && why.contains(words), "{lost_percent} %: {why}");
}

#[test]
fn iperf3_gives_what_was_received() {
    let reading = read("iperf3 -c b -t 1 --json", printed!("iperf3-tcp.json")).unwrap();
    assert_values(&reading, [("rate_mbit_s", 21_753.014_065_807), ("retransmits", 2.0), ("rtt_ms", 0.029)]);
    assert_values(&reading, [("tx_percent", 98.651_718_589_674_5), ("rx_percent", 41.028_942_764_308_92)]);
    let old = read("iperf3 -c b -J", printed!("iperf3-3.1-tcp.json")).unwrap();
    assert_values(&old, [("rate_mbit_s", 939.413_673_3), ("retransmits", 7.0), ("rx_percent", 8.4)]);
    assert!(old.missing["rtt_ms"].contains("names no round trip"), "{:?}", old.missing);
    let stream = read("iperf3 -c b -t 1 --json-stream", printed!("iperf3-3.17-stream.txt")).unwrap();
    assert_values(&stream, [("rate_mbit_s", 991.008_991), ("rtt_ms", 0.7), ("tx_percent", 10.5)]);
}

#[test]
fn iperf3_names_its_directions() {
    let back = read("iperf3 -RJc b", printed!("iperf3-reverse.json")).unwrap();
    // The peer sends: what it sends costs its CPU.
    assert_values(&back, [("rate_mbit_s", 19_032.473_738_315_144), ("tx_percent", 99.404_365_057_549_4)]);
    assert!(back.missing.contains_key("rtt_ms"), "0 is how iperf3 says that it does not know");
    let both = read("iperf3 -c b --bidir -J", printed!("iperf3-bidir.json")).unwrap();
    assert_values(&both, [("rate_mbit_s", 13_075.280_686_299_646), ("reverse_rate_mbit_s", 6_994.264_828_739_346)]);
    assert_values(&both, [("retransmits", 12.0), ("host_percent", 81.492_724_913_176_03), ("rtt_ms", 0.046)]);
    let udp = read("iperf3 -c b -u -b 10M --bidir --json", printed!("iperf3-udp-bidir.json")).unwrap();
    assert_values(&udp, [("rate_mbit_s", 10.220_815_496_553_943), ("reverse_jitter_ms", 0.014_686_769_460_388_115)]);
}

#[test]
fn iperf3_over_udp_tells_what_was_lost() {
    let reading = read("iperf3 -uJ -c b -b 20M", printed!("iperf3-udp.json")).unwrap();
    assert_values(
        &reading,
        [("rate_mbit_s", 20.178_872_907_144_6), ("lost_percent", 0.0), ("jitter_ms", 0.009_821_045_643_286_544)],
    );
    let old = read("iperf3 -uJ -c b -b 100M", printed!("iperf3-3.6-udp-lossy.json")).unwrap();
    assert_values(&old, [("lost_percent", 100.0 * 1727.0 / 86326.0), ("jitter_ms", 0.031)]);
    assert!(old.missing["rate_mbit_s"].contains("only what was sent"), "what was sent is not what came: {old:?}");
    let none = printed!("iperf3-udp.json").replace("\"lost_packets\":\t0", "\"lost_packets\":\t77");
    assert_void("iperf3 -uJ -c b", &none, "77 of 77 packets were lost");
}

#[test]
fn iperf3_over_udp_that_received_nothing_is_no_rate_of_zero() {
    let nothing: String = printed!("iperf3-udp.json")
        .lines()
        .map(|line| {
            let key = ["\"bytes\":", "\"bits_per_second\":"].into_iter().find(|key| line.trim_start().starts_with(key));
            let zero = |key: &str| format!("{key} 0{}\n", if line.ends_with(',') { "," } else { "" });
            key.map_or_else(|| format!("{line}\n"), zero)
        })
        .collect();
    assert_void("iperf3 -uJ -c b", &nothing, "nothing was received");
}

#[test]
fn iperf3_streams_that_end_with_the_whole_document_are_read() {
    let whole = format!("{}{}", printed!("iperf3-3.17-stream.txt"), printed!("iperf3-tcp.json"));
    let reading = read("iperf3 -c b -t 1 --json-stream --json-stream-full-output", &whole).unwrap();
    assert_values(&reading, [("rate_mbit_s", 21_753.014_065_807), ("retransmits", 2.0)]);
}

#[test]
fn iperf3_that_is_no_measurement_says_why() {
    let (call, good) = ("iperf3 -c b -t 1 --json", printed!("iperf3-tcp.json"));
    assert_void(call, printed!("iperf3-refused.json"), "iperf3 says: unable to connect to server: Connection refused");
    assert_void(call, &format!("{good}{good}"), "more than one JSON document");
    assert_void(call, &good[..good.len() / 2], "cut short");
    assert_void(call, "", "printed nothing");
    assert_void(call, "Connecting to host b, port 5201\n", "no JSON but 'Connecting to host b");
    assert_void(call, "{}", "ended without a result");
    assert_void(call, printed!("wrk.txt"), "no JSON");
    let changed = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replace(from, to)
    };
    assert_void(call, &changed("\"duration\":\t1,", "\"duration\":\t10,"), "1 s of the 10 s asked for");
    assert_void(call, &changed("21753014065.807064", "-1"), "-1 bit/s");
    assert_void(call, &changed("21753014065.807064", "2.1e300"), "contradicts itself");
    assert_void(call, &changed("21753014065.807064", "null"), "no number at bits_per_second");
    assert_void(call, &changed("21753014065.807064", "nan"), "not JSON");
    assert_void(call, &changed("21753014065.807064", "21753014065,807064"), "not JSON");
    assert_void(call, &changed("\"protocol\":\t\"TCP\"", "\"protocol\":\t\"CARRIER\""), "over which protocol");
    let stream = printed!("iperf3-3.17-stream.txt");
    assert_void("iperf3 -c b --json-stream", &stream[..stream.len() - 40], "cut short");
    assert_void("iperf3 -c b --json-stream", &format!("{stream}{stream}"), "two events 'start'");
}

#[test]
fn a_rate_that_was_missed_voids() {
    let (call, good) = ("iperf3 -c b -b 50M -P 2 -J", printed!("iperf3-p2.json"));
    assert_values(&read(call, good).unwrap(), [("rate_mbit_s", 100.586_146_425_691_5), ("rtt_ms", 0.092)]);
    let missed = good.replace("\"target_bitrate\":\t50000000", "\"target_bitrate\":\t60000000");
    assert_void(call, &missed, "sent 101 Mbit/s of the 120 asked for");
    let call = "nuttcp -fparse -T10 -u -R100m b";
    let good = printed!("nuttcp-8-udp.txt");
    assert_values(
        &read(call, good).unwrap(),
        [("rate_mbit_s", 100.0004), ("lost_percent", 0.0984), ("dropped_packets", 123.0)],
    );
    assert_void("nuttcp -fparse -T10 -u -Ri150m b", good, "sent 100 Mbit/s of the 150 asked for");
    let good = printed!("wrk2.txt");
    assert_values(
        &read("wrk2 -R2000 --latency -d10s http://b", good).unwrap(),
        [("p99_us", 2430.0), ("p50_us", 1090.0)],
    );
    assert_void("wrk2 -R2.5k --latency -d10s http://b", good, "2000 requests/s of the 2500 asked for");
    let good = printed!("sockperf-3.10-ul.txt");
    assert_values(&read("sockperf ul -i b -t 10 --mps 10000 --full-rtt", good).unwrap(), [("p50_us", 40.212)]);
    assert_void("sockperf ul -i b -t 10 --mps=20000", good, "10000 messages/s of the 20000 asked for");
}

#[test]
fn nuttcp_gives_its_columns() {
    let call = "nuttcp -fparse -T1 b";
    let reading = read(call, printed!("nuttcp-tcp.txt")).unwrap();
    assert_values(&reading, [("rate_mbit_s", 13_799.452_3), ("tx_percent", 96.0), ("rx_percent", 31.0)]);
    assert_values(&reading, [("retransmits", 0.0), ("rtt_ms", 0.13)]);
    let udp = read("nuttcp -P5501 -p 5502 -fparse -T1 -u -R50m b", printed!("nuttcp-udp.txt")).unwrap();
    assert_values(&udp, [("rate_mbit_s", 50.1176), ("lost_percent", 0.0), ("dropped_packets", 0.0)]);
    let good = printed!("nuttcp-tcp.txt");
    let interval = "megabytes=936.2500 real_sec=0.50 rate_Mbps=15706.6633 retrans=0\n";
    assert_eq!(
        read(call, &format!("{interval}{good}")).unwrap(),
        reading,
        "what was said on the way is not the result"
    );
    assert_void(call, interval, "no line of results");
    assert_void(call, &format!("{good}{good}"), "more than one line of results");
    assert_void(call, &good.replace("13799.4523", "13799,4523"), "no number");
    assert_void(call, &good.replace("13799.4523", "-13799.4523"), "no number");
    assert_void(call, &good.replace("13799.4523", "nan"), "no number");
    assert_void(call, &good.replace("13799.4523", "99999.0"), "contradicts itself");
    assert_void(call, &format!("{}\n", good.split("rate_Mbps").next().unwrap()), "no rate_Mbps");
    assert_void("nuttcp -fparse -T10 b", good, "ran for 1 s of the 10 s asked for");
    assert_void(
        call,
        " 1606.7500 MB /   1.00 sec = 13485.3274 Mbps 96 %TX 31 %RX 0 retrans 0.21 msRTT",
        "no line of results",
    );
    let error = "nuttcp-t: Info=\"x\"\nnuttcp-t: v6.1.2: Error: connect: Connection refused\nerrno=111\n";
    assert_eq!(read_both(call, good, error).unwrap_err(), "nuttcp says: connect: Connection refused");
    let driver = driver(&argv(call), Reads::Auto).unwrap();
    let said = driver.complaint(&finished("", error).output);
    assert_eq!(said.as_deref(), Some("connect: Connection refused"), "a run that failed says it as well");
}

#[test]
fn pings_of_all_makes_are_read() {
    let reading = read("ping -c 3 b", printed!("ping-iputils.txt")).unwrap();
    assert_values(&reading, [("rtt_ms", 0.039), ("rtt_min_ms", 0.017), ("rtt_max_ms", 0.064), ("rtt_mdev_ms", 0.019)]);
    let lossy = read("/bin/ping -q -c 200 b", printed!("ping-lossy.txt")).unwrap();
    assert_values(&lossy, [("lost_percent", 1.0), ("rtt_ms", 16.704)]);
    assert!(lossy.notes.iter().any(|note| note.contains("+1 duplicates")), "{:?}", lossy.notes);
    let busybox = read("busybox ping -c 3 b", printed!("ping-busybox.txt")).unwrap();
    assert!(busybox.values.contains_key("rtt_ms") && busybox.missing["rtt_mdev_ms"].contains("scatter"));
    let inetutils = read("ping -c 2 b", printed!("ping-inetutils.txt")).unwrap();
    assert_values(&inetutils, [("rtt_ms", 0.3), ("rtt_mdev_ms", 0.012), ("lost_percent", 0.0)]);
}

#[test]
fn a_ping_that_is_none_says_why() {
    let (call, good) = ("ping -c 3 b", printed!("ping-iputils.txt"));
    let alone = "PING b (10.0.0.2) 56(84) bytes of data.\n\n--- b ping statistics ---\n\
                 2 packets transmitted, 0 received, +2 errors, 100% packet loss, time 1020ms\n\n";
    assert_lossy(call, alone, 100.0, "no answer came to ping's 2 packets");
    let lossy = good.replace("3 packets transmitted, 3 received", "30 packets transmitted, 3 received");
    assert_lossy("ping b", &lossy, 90.0, "ping lost 27 of 30 packets");
    assert_void("ping -c 5 b", good, "sent 3 of the 5 packets");
    assert!(read("ping -c 5 -w 1 b", good).is_ok(), "what ends by its deadline was asked to");
    assert_void(call, good.split("---").next().unwrap(), "without its count");
    assert_void(call, good.split("rtt min").next().unwrap(), "no round trips");
    assert_void(call, &good.replace("0.017/0.039/0.064/0.019", "0,017/0,039/0,064/0,019"), "no numbers");
    assert_void(call, &good.replace("0.039", "nan"), "no numbers");
    assert_void(call, &good.replace("0.017/", "-0.017/"), "no numbers");
    assert_void(call, &good.replace("0.064", "1e300"), "no numbers");
    assert_void(call, &good.replace("0.064", "64000000.0"), "cannot be");
    assert_void(call, &good.replace("/0.064", "/0.001"), "contradict themselves");
    assert_void(call, &format!("{good}{good}"), "more than one line");
    assert_void(call, printed!("nuttcp-tcp.txt"), "without its count");
}

#[test]
fn cyclictest_is_read_in_all_its_forms() {
    let reading =
        read("cyclictest -q -D 1 -t 2", printed!("cyclictest-json.txt").split("  }\n}\n").last().unwrap()).unwrap();
    assert_values(&reading, [("mean_us", (2000.0 * 15.0 + 1000.0 * 16.0) / 3000.0), ("min_us", 8.0), ("max_us", 87.0)]);
    let json = read("cyclictest -q -D 1 -t 2 --json=/dev/stdout", printed!("cyclictest-json.txt")).unwrap();
    assert_values(&json, [("mean_us", (2000.0 * 15.45 + 1000.0 * 16.36) / 3000.0), ("min_us", 8.0), ("max_us", 87.0)]);
    let call = "cyclictest -q -D 1 -t 2 -h 200 --json=/dev/stdout";
    let whole = printed!("cyclictest-json-histogram.txt");
    let from_json = read(call, whole).unwrap();
    // The same run prints the same histogram as text behind its JSON.
    let text = &whole[whole.find("# Histogram").unwrap()..];
    let from_text = read("cyclictest -q -D 1 -t 2 -h 200", text).unwrap();
    for name in ["p50_us", "p90_us", "p99_us", "min_us", "max_us"] {
        assert_eq!(from_json.values[name], from_text.values[name], "{name}");
    }
    assert!((from_json.values["mean_us"] - from_text.values["mean_us"]).abs() < 1.0, "the text has whole us");
    let note = from_json.notes.iter().next().unwrap();
    assert!(note.contains("at 0 us") && note.contains("--laptop"), "{note}");
    assert_eq!(
        read(
            "cyclictest -q -D 1 -N",
            "T: 0 (2) P: 0 I:500 C:   1996 Min:  16213 Act:   29996 Avg:   36833 Max: 2416361\n"
        )
        .unwrap()
        .values["max_us"],
        2416.361
    );
    let with_sum = read("cyclictest -q -D 1 -t 2 -H 40", printed!("cyclictest-hofall.txt")).unwrap();
    assert_values(&with_sum, [("max_us", 1431.0)]);
}

#[test]
fn cyclictests_percentiles_know_what_lay_beyond_the_histogram() {
    let call = "cyclictest -q -h 3";
    let text = "# Histogram\n000000 000000\n000001 000090\n000002 000005\n# Total: 000000095\n# Min Latencies: 00001\n\
                # Avg Latencies: 00001\n# Max Latencies: 00900\n# Histogram Overflows: 00005\n";
    let reading = read(call, text).unwrap();
    assert_values(&reading, [("p50_us", 1.0), ("p90_us", 1.0), ("max_us", 900.0)]);
    assert!(reading.missing["p99_us"].contains("5 of 100 wakings"), "{:?}", reading.missing);
    assert_void(call, &text.replace("000005\n", "-5\n"), "has the line");
    assert_void(call, text.split("# Max").next().unwrap(), "Histogram Overflows");
    assert_void(call, &text.replace("00900", "99999999999"), "cannot be");
    assert_void(call, "", "no result");
    let call = "cyclictest -q --json=/dev/stdout";
    let good = printed!("cyclictest-json.txt");
    assert_void(call, &good[..good.find("\"max\"").unwrap()], "cut short");
    assert_void(call, &good.replace("\"return_code\": 0", "\"return_code\": 1"), "ended with 1");
    assert_void(call, &good.replace("\"cycles\": 1000", "\"cycles\": 0"), "never woke");
    assert_void(call, &good.replace("\"max\": 87", "\"max\": -87"), "no number at max");
    assert_void(call, &good.replace("\"avg\": 15.45", "\"avg\": 15,45"), "not JSON");
    assert_void(call, "{}\n", "no threads");
}

#[test]
fn sockperf_is_read_without_its_colours() {
    let call = "sockperf pp -i b -t 1";
    let good = printed!("sockperf-pp.txt");
    let reading = read(call, good).unwrap();
    assert_values(&reading, [("p50_us", 49.327), ("p99_us", 79.757), ("mean_us", 50.613), ("max_us", 753.153)]);
    assert_values(&reading, [("lost_percent", 0.0), ("out_of_order_messages", 0.0)]);
    let few = read("sockperf under-load -i b -t 1 --mps 1000", printed!("sockperf-ul.txt")).unwrap();
    assert_values(&few, [("p50_us", 45.584)]);
    assert!(few.missing["p99_us"].contains("4 observations are too few"), "{:?}", few.missing);
    assert_values(
        &read("sockperf ul -t 10", printed!("sockperf-3.10-ul.txt")).unwrap(),
        [("mean_us", 41.206), ("p99_us", 58.021)],
    );
    let lost = good.replace("# dropped messages = 0", "# dropped messages = 60");
    assert_lossy(call, &lost, 6000.0 / 5432.0, "sockperf lost 60 of 5432 messages");
    let few = good.replace("# dropped messages = 0", "# dropped messages = 5");
    assert_values(&read(call, &few).unwrap(), [("lost_percent", 500.0 / 5432.0)]);
    assert_void(
        call,
        "sockperf: Test ended\nsockperf: No messages were received from the server. Is the server down?\n",
        "No messages were received",
    );
    let warned = format!("sockperf: Warning: the cheese is old\n{good}");
    assert!(read(call, &warned).unwrap().notes.contains("sockperf says: Warning: the cheese is old"));
    assert_void(call, &format!("sockperf: ERROR: out of cheese\n{good}"), "sockperf says: ERROR: out of cheese");
    assert_void("sockperf pp -t 5", good, "ran for 1 s of the 5 s asked for");
    assert_void(call, good.split("# dropped").next().unwrap(), "no dropped messages");
    assert_void(call, &good.replace("=   49.327", "=   49,327"), "'= 49,327'");
    assert_void(call, &good.replace("=   49.327", "=   nan"), "nan");
    assert_void(call, &good.replace("=   49.327", "=  490.327"), "out of order");
    assert_void(call, &format!("{good}{good}"), "more than one line");
    assert_void(call, "", "Total Run");
}

#[test]
fn sockperf_2_aligns_its_figures_otherwise_and_counts_packets() {
    let old: String = printed!("sockperf-pp.txt")
        .replace("percentile ", "percentile  ")
        .replace("99.999 =", "99.99 =")
        .replace("0.000 =", "0.00 =")
        .replace("avg-latency=", "avg-lat=  ")
        .replace("messages =", "packets =");
    assert!(old.contains("percentile  50.00 =") && old.contains("avg-lat=  50.613"), "{old}");
    let reading = read("sockperf pp -i b", &old).unwrap();
    assert_values(&reading, [("p50_us", 49.327), ("mean_us", 50.613), ("max_us", 753.153), ("lost_percent", 0.0)]);
}

#[test]
fn wrk_is_read_and_its_errors_void() {
    let call = "wrk -t1 -c2 -d1s --latency http://b/";
    let good = printed!("wrk.txt");
    let reading = read(call, good).unwrap();
    assert_values(&reading, [("requests_per_s", 1261.39), ("p50_us", 910.0), ("p99_us", 8060.0)]);
    assert_values(&reading, [("mean_us", 2040.0), ("max_us", 11840.0)]);
    assert_void(call, printed!("wrk-404.txt"), "answered with an error by the server");
    let errors = good.replace("Requests/sec:", "Socket errors: connect 0, read 12, write 0, timeout 3\nRequests/sec:");
    assert_void(call, &errors, "connect 0, read 12, write 0, timeout 3");
    assert_void("wrk http://b/", good, "ran for 1 s of the 10 s asked for");
    assert_void(call, &good.replace("1261.39", "1261,39"), "without its requests a second");
    assert_void(call, &good.replace("1261.39", "nan"), "without its requests a second");
    assert_void(call, &good.replace("1261.39", "9999.99"), "contradicts itself");
    assert_void(call, &good.replace("8.06ms", "8.06parsecs"), "8.06parsecs");
    assert_void(call, &good.replace("8.06ms", "0.06ms"), "out of order");
    assert_void(call, good.split("  1262").next().unwrap(), "count of requests");
    assert_void(call, "", "count of requests");
}

#[test]
fn what_mpirun_says_itself_is_told_apart() {
    let edge = "-".repeat(74);
    let stderr = format!(
        "p99 = 7\n[node3:20657] 3 more processes have sent help message help-mpi.txt\n{edge}\nThere are not enough slots available \
         in the system to satisfy\nthe 9 slots that were requested\n\nslots = 99\n{edge}\nlast = 8\n"
    );
    let driver = driver(&argv("mpirun -np 4 ./prog"), Reads::Auto).unwrap();
    let output = finished("p50 = 3\n", &stderr).output;
    let own = driver.own(&output).unwrap();
    assert_eq!((own.stdout.as_str(), own.stderr.as_str()), ("p50 = 3\n", "p99 = 7\nlast = 8\n"));
    let why = driver.complaint(&output).unwrap();
    assert_eq!(why, "There are not enough slots available in the system to satisfy the 9 slots that were requested");
    assert!(driver.metrics().is_empty(), "what it starts has its own times");
}

#[test]
fn calls_that_cannot_be_read_say_what_to_add() {
    for (line, add) in [
        ("iperf3 -c b", "--json"),
        ("nuttcp b", "-fparse"),
        ("cyclictest -D 1", "-q"),
        ("cyclictest -D 1 --json=out.json", "--json=/dev/stdout"),
        ("perf stat -e cycles true", "-x,"),
        ("perf stat -x, -o out true", "-o"),
        ("perf stat -x, -I 100 true", "-I"),
        ("perf stat -x, --per-node -a true", "--per-"),
        ("perf stat -x, --per-cache -a true", "--per-"),
        ("perf stat -x, --no-merge true", "--no-merge"),
        ("perf stat -x, --metric-only true", "--metric-only"),
        ("iperf3 -c b -J --logfile out.json", "--logfile"),
        ("cyclictest -h 400 -D 1 --histfile=out.txt", "--histfile"),
        ("iperf -c b", "--metric"),
        ("fping -c 10 b", "--metric"),
        ("oha http://b", "--metric"),
        ("taskset -c 1 fping -c 10 b", "output of fping is not read"),
        ("sudo ping ab", "--reads ping"),
        ("sockperf tp -i b", "ping-pong"),
        ("taskset -c 0 iperf3 -c b --json", "--reads iperf3"),
        ("sudo /usr/bin/ping b", "--reads ping"),
        ("ip netns exec b perf stat -x, true", "--reads perf_stat"),
    ] {
        let said = advice(&argv(line), Reads::Auto).unwrap_or_else(|| panic!("nothing is said of {line}"));
        assert!(said.contains(add), "{line}: {said}");
        let promised = driver(&argv(line), Reads::Auto).map_or(0, |driver| driver.metrics().len());
        assert_eq!(promised, 0, "{line}");
    }
    for line in [
        "iperf3 -c b --json",
        "perf record true",
        "sudo perf record true",
        "./bench ping",
        "sudo ./bench",
        "ping b",
        "true",
        "wrk http://b",
    ] {
        assert_eq!(advice(&argv(line), Reads::Auto), None, "{line}");
    }
    assert!(
        driver(&argv("iperf3 -c b --json"), Reads::None).is_none()
            && advice(&argv("iperf3 -c b"), Reads::None).is_none()
    );
}

#[test]
fn what_is_chosen_is_read_behind_other_programs() {
    let through = vec!["sh".to_owned(), "-c".to_owned(), "sleep 1; iperf3 -c b -u -b 20M --json".to_owned()];
    let chosen = driver(&through, Reads::Iperf3).unwrap();
    let reading = chosen.read(&finished(printed!("iperf3-udp.json"), "")).unwrap();
    assert_values(&reading, [("lost_percent", 0.0)]);
    // A script shows no options: what it prints decides.
    let script = driver(&argv("./run.sh"), Reads::Iperf3).unwrap();
    assert!(script.read(&finished("some text", "")).unwrap_err().contains("no JSON"));
    assert!(script.read(&finished(printed!("iperf3-tcp.json"), "")).unwrap().values.contains_key("rate_mbit_s"));
    let mut cut = finished(printed!("iperf3-tcp.json"), "");
    cut.output.cut = true;
    assert!(script.read(&cut).unwrap_err().contains("more than is kept"));
    let short = Usage { real_ns: 500_000_000, ..Usage::default() };
    let short = Finished { usage: short, ..finished(printed!("iperf3-tcp.json"), "") };
    assert_eq!(script.read(&short).unwrap_err(), "iperf3 says it ran for 1 s, but it ended after 0.5 s");
    assert_eq!(Reads::parse("perf_stat"), Ok(Reads::PerfStat));
    assert!(Reads::parse("netperf").unwrap_err().contains("auto, none, nuttcp, iperf3"));
}

#[test]
fn what_is_cut_anywhere_gives_the_same_numbers_or_none() {
    const WHOLE: [(&str, &str); 13] = [
        ("iperf3 -c b --json", printed!("iperf3-tcp.json")),
        ("iperf3 -c b -u --bidir --json", printed!("iperf3-udp-bidir.json")),
        ("iperf3 -c b --json-stream", printed!("iperf3-3.17-stream.txt")),
        ("nuttcp -fparse b", printed!("nuttcp-tcp.txt")),
        ("nuttcp -fparse -u b", printed!("nuttcp-8-udp.txt")),
        ("ping -c 3 b", printed!("ping-iputils.txt")),
        ("busybox ping -c 3 b", printed!("ping-busybox.txt")),
        ("cyclictest -q -t 2", printed!("cyclictest-q.txt")),
        ("cyclictest -q -t 2 -H 40", printed!("cyclictest-hofall.txt")),
        ("cyclictest -q -t 2 --json=/dev/stdout", printed!("cyclictest-json.txt")),
        ("sockperf pp -i b", printed!("sockperf-pp.txt")),
        ("wrk -d1s --latency http://b", printed!("wrk.txt")),
        ("wrk2 -d10s -R2000 --latency http://b", printed!("wrk2.txt")),
    ];
    for (call, text) in WHOLE {
        let whole = read(call, text).unwrap();
        let ends = (0..text.len()).filter(|at| text.is_char_boundary(*at));
        let (mut taken, mut refused) = (0, 0);
        for cut in ends.map(|end| &text[..end]) {
            match read(call, cut) {
                Ok(reading) => {
                    taken += 1;
                    assert_eq!(reading.values, whole.values, "{call}, cut at {} of {}", cut.len(), text.len());
                }
                Err(_) => refused += 1,
            }
        }
        assert!(refused > taken, "{call}: only what ends in nothing new can be cut");
    }
}

/// Calls whose output any text may be.
const CALLS: [&str; 13] = [
    "iperf3 -c b --json",
    "iperf3 -c b -u --bidir --json",
    "nuttcp -fparse -u -R1m b",
    "nuttcp -fparse b",
    "ping -c 1 b",
    "cyclictest -q",
    "cyclictest -q -h 100",
    "cyclictest -q -H 100",
    "cyclictest -q --json=/dev/stdout",
    "sockperf pp -t 1 --mps 10",
    "wrk2 -d1s -R1 --latency b",
    "perf stat -x, -e task-clock,cycles true",
    "perf stat -j -e task-clock,cycles true",
];

#[test]
fn whatever_is_printed_there_is_no_panic_and_no_number_that_cannot_be() {
    const PRINTED: [&str; 12] = [
        printed!("iperf3-tcp.json"),
        printed!("iperf3-udp-bidir.json"),
        printed!("iperf3-3.17-stream.txt"),
        printed!("nuttcp-udp.txt"),
        printed!("ping-lossy.txt"),
        printed!("cyclictest-q.txt"),
        printed!("cyclictest-hofall.txt"),
        printed!("cyclictest-json.txt"),
        printed!("sockperf-3.10-ul.txt"),
        printed!("wrk2.txt"),
        printed!("perf-x.txt"),
        printed!("perf-j.txt"),
    ];
    const BITS: [&str; 20] = [
        "",
        "-",
        "1e309",
        "nan",
        "inf",
        "-1",
        "0",
        "99999999999999999999",
        "18446744073709551616",
        ",",
        ".",
        "\n",
        "\0",
        "é",
        "{",
        "}",
        "\"",
        "\u{1b}[",
        " ",
        "null",
    ];
    let mut state = 1_u64;
    let mut roll = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below.max(1)
    };
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let mut text = PRINTED[roll(PRINTED.len())].to_owned();
        for _ in 0..=roll(3) {
            let from = text.floor_char_boundary(roll(text.len() + 1));
            let to = text.floor_char_boundary((from + roll(12)).min(text.len()));
            text.replace_range(from..to.max(from), BITS[roll(BITS.len())]);
        }
        let driver = driver(&argv(CALLS[roll(CALLS.len())]), Reads::Auto).unwrap();
        for finished in [finished(&text, ""), finished("", &text)] {
            match driver.read(&finished) {
                Ok(reading) => {
                    taken += 1;
                    let fits = reading.values.values().all(|value| value.is_finite() && *value >= 0.0);
                    assert!(fits, "{reading:?} of {text}");
                }
                Err(why) => {
                    refused += 1;
                    assert!(!why.is_empty() && !why.contains('\n'), "{why:?}");
                }
            }
        }
    }
    assert!(taken > 500 && refused > 500, "both happen: {taken} and {refused}");
}
