//! The shape of an output: everything except the numbers, which vary.
//!
//! A number wider than its field, as on a busy machine, has the shape of the field.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Lines with numbers replaced by the widths of their fields. Repeated shapes count once: those in a row, or with `once` all of them,
/// for a screen that is redrawn.
pub(crate) fn shape(text: &str, once: bool) -> String {
    let mut shapes: Vec<String> = Vec::new();
    // Some machines have no /dev/cpu_dma_latency.
    for line in text.lines().filter(|line| !line.starts_with("# /dev/cpu_dma_latency")) {
        let shape = line_shape(&line.replace('\x1b', "ESC"));
        let is_repeated = if once { shapes.contains(&shape) } else { shapes.last() == Some(&shape) };
        if !is_repeated {
            shapes.push(shape);
        }
    }
    shapes.join("\n").trim_end().to_owned()
}

type MakeShape = fn(&str) -> String;

/// Patterns of lines, and how each is reduced to its shape. The first match counts.
static RULES: LazyLock<Vec<(Regex, MakeShape)>> = LazyLock::new(|| {
    let rules: [(&str, MakeShape); 11] = [
        (r"^# Thread \d+:( \d{5,})*( # \d{5,} others)? ?$", |line| {
            format!("{}: <cycles>", line.split(':').next().unwrap_or_default())
        }),
        (r"^T: *\d+", stat_line_shape),
        ("loadavg:", |line| format!("{} <load>          ", line.split_inclusive("loadavg:").next().unwrap())),
        (r"^# (Thread Ids|Break)|^(Max|Online) CPUs", |line| NUMBER.replace_all(line, "N").into_owned()),
        (r"^\d{6,} ", |line| zero_padded(line, 6)),
        (r"^# (Min|Avg|Max|Histogram Overflows|SMIs)", |line| zero_padded(line, 5)),
        (r"^# Total:", |line| zero_padded(line, 9)),
        (r"^ *\d+: *\d+: *-?\d+$", value_shape),
        (r#"^ +"\d+": \d+,?$"#, |_| "        \"<bucket>\": N".to_owned()),
        (r#"^ +"[\w:]+": -?[\d.]+,?$"#, json_number_shape),
        (r#"^ +"(cmdline:|start_time|end_time|sysname|nodename|release|version|machine)": ""#, |line| {
            let (key, _) = line.split_once("\": ").unwrap();
            format!("{key}\": S{}", if line.ends_with(',') { "," } else { "" })
        }),
    ];
    rules.map(|(pattern, shape)| (Regex::new(pattern).unwrap(), shape)).into()
});

static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d+").unwrap());
static JSON_NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r": -?\d+(\.\d\d)?").unwrap());

fn line_shape(line: &str) -> String {
    let rule = RULES.iter().find(|(pattern, _)| pattern.is_match(line));
    rule.map_or_else(|| line.to_owned(), |(_, shape)| shape(line))
}

/// Which of the two formats a line has; the line itself for neither.
fn stat_line_shape(line: &str) -> String {
    let n: Vec<i64> = NUMBER.find_iter(line).filter_map(|number| number.as_str().parse().ok()).collect();
    let &[thread, tid, priority, interval, cycles, min, act, avg, max] = n.as_slice() else {
        return line.to_owned();
    };
    let formatted = |width: usize| {
        format!(
            "T:{thread:2} ({tid:5}) P:{priority:2} I:{interval} C:{cycles:7} Min:{min:7} \
             Act:{act:width$} Avg:{avg:width$} Max:{max:8}"
        )
    };
    match line {
        line if line == formatted(5) => format!("T:{thread:2} <us>"),
        line if line == formatted(8) => format!("T:{thread:2} <ns>"),
        line => line.to_owned(),
    }
}

fn value_shape(line: &str) -> String {
    let parts: Vec<&str> = line.split(':').map(str::trim).collect();
    let formatted = format!("{:>8}:{:>8}:{:>8}", parts[0], parts[1], parts[2]);
    if line == formatted { "<value>".to_owned() } else { line.to_owned() }
}

/// Numbers of at least `width` digits; shorter ones are padded with zeroes.
fn zero_padded(line: &str, width: usize) -> String {
    let shape = |found: &Captures<'_>| {
        let number = &found[0];
        let fits = number.len() == width || (number.len() > width && !number.starts_with('0'));
        if fits { format!("<{width}>") } else { number.to_owned() }
    };
    NUMBER.replace_all(line, shape).into_owned()
}

fn json_number_shape(line: &str) -> String {
    let shape = |found: &Captures<'_>| if found.get(1).is_some() { ": N.NN" } else { ": N" };
    JSON_NUMBER.replace(line, shape).into_owned()
}
