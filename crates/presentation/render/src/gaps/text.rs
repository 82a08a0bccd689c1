//! The text output of `howlate gaps`.

use howlate_analyse::gaps::{CpuGaps, GapShare};
use howlate_model::{Caveat, Latency};

use super::GapsReport;
use super::wording::{cause, micros_of, moved};
use crate::cause_words::percent;
use crate::detail::Detail;
use crate::numbers::{count, length, micros, rough};
use crate::prose::wrapped;
use crate::style::{DIM, HEADING, WARN, paint};
use crate::table::TextTable;

/// Most CPUs with a row, most CPUs with causes, and most causes of each.
const BRIEF: RowLimits = RowLimits { cpus: 6, explained: 1, causes: 5 };
const FULL: RowLimits = RowLimits { cpus: usize::MAX, explained: usize::MAX, causes: 8 };
/// Minimum share of a CPU that other programs had, to be mentioned.
const MUCH: f64 = 0.01;
/// Above this share a cause is called most of the lost time.
const MOST: f64 = 0.5;

struct RowLimits {
    cpus: usize,
    explained: usize,
    causes: usize,
}

const fn limits(detail: Detail) -> RowLimits {
    if matches!(detail, Detail::Full) { FULL } else { BRIEF }
}

impl GapsReport {
    /// Whether causes are known.
    pub(super) const fn is_traced(&self) -> bool {
        self.traces && self.run.not_traced.is_none()
    }

    /// The text output, `width` columns wide: caveats first, the answer last.
    pub fn text(&self, detail: Detail, width: usize) -> String {
        [
            format!("{}\n\n", wrapped(&self.machine, width, 0)),
            if detail == Detail::Full { self.lengths() } else { String::new() },
            self.notes(width),
            self.table(detail, width),
            self.causes(detail, width),
            self.longest(detail, width),
            self.accounts(detail, width),
            self.stalls(width),
            format!("{}\n", wrapped(&self.answer(), width, 0)),
        ]
        .concat()
    }

    /// The `most` CPUs that lost most, in order of their numbers.
    fn worst(&self, most: usize) -> Vec<&CpuGaps> {
        let mut worst: Vec<&CpuGaps> = self.run.cpus.iter().collect();
        worst.sort_by(|cpu, other| other.ppm().total_cmp(&cpu.ppm()));
        worst.truncate(most);
        worst.sort_by_key(|cpu| cpu.counted.cpu);
        worst
    }

    /// The worst CPU in a sentence.
    fn answer(&self) -> String {
        let worst = self.run.cpus.iter().max_by(|cpu, other| cpu.ppm().total_cmp(&other.ppm()));
        let Some(worst) = worst else { return "Nothing was measured.".to_owned() };
        let above = length(self.run.above);
        if worst.counted.gaps == 0 {
            return format!("No gap of {above} or longer on any measured CPU in {}.", rough(self.lasted()));
        }
        let most = worst.by.first().filter(|_| self.is_traced());
        let most = most.map_or_else(String::new, |share| {
            let part = share.total.as_nanos() as f64 / worst.counted.total.as_nanos().max(1) as f64;
            let most = if part > MOST { "Most of it" } else { "The largest part" };
            format!(" {most} went to: {} ({}).", cause(&share.cause, self.is_guest), percent(part))
        });
        let longest = self.run.cpus.iter().map(|cpu| cpu.counted.longest).max().unwrap_or_default();
        format!(
            "CPU {} lost {} of its time to gaps of {above} or longer; the longest on any measured CPU was {}.{most}",
            worst.counted.cpu,
            lost(worst),
            Latency::from_span(longest)
        )
    }

    fn table(&self, detail: Detail, width: usize) -> String {
        let worst = self.worst(limits(detail).cpus);
        let cpus = || worst.iter().copied();
        let quantile = |cpu: &CpuGaps, quantile: f64| {
            let nanos = cpu.histogram.quantile(quantile).map(Latency::as_nanos);
            nanos.map_or_else(|| "–".to_owned(), micros)
        };
        let mut table = TextTable::without_columns(1);
        table.column("", cpus().map(|cpu| format!("  CPU {}", cpu.counted.cpu)));
        table.column("gaps", cpus().map(|cpu| count(cpu.counted.gaps)));
        table.column("per second", cpus().map(per_second));
        table.column("lost ppm", cpus().map(ppm));
        table.column("median", cpus().map(|cpu| quantile(cpu, 0.5)));
        table.column("p99", cpus().map(|cpu| quantile(cpu, 0.99)));
        table.column("max", cpus().map(|cpu| micros_of(cpu.counted.longest)));
        let title = format!(
            "Gaps in µs of a thread that never sleeps · {} · {} · {} or longer",
            rough(self.lasted()),
            self.run.policy,
            length(self.run.above)
        );
        let more = more(self.run.cpus.len() - worst.len(), "that lost less");
        format!("{}\n{}{more}\n", paint(HEADING, wrapped(&title, width, 0)), table.text(width))
    }

    fn causes(&self, detail: Detail, width: usize) -> String {
        if !self.is_traced() || self.run.cpus.iter().all(|cpu| cpu.by.is_empty()) {
            return String::new();
        }
        let headings = ["", "", "gaps", "µs in all", "share", "longest"].map(str::to_owned);
        let mut table = TextTable::new(&headings, 2);
        let RowLimits { explained, causes, .. } = limits(detail);
        let shown = self.worst(explained);
        for cpu in &shown {
            let total: u64 = cpu.by.iter().map(|share| share.total.as_nanos()).sum();
            for (place, share) in cpu.by.iter().take(causes).enumerate() {
                let name = if place == 0 { format!("  CPU {}", cpu.counted.cpu) } else { String::new() };
                table.row(self.cause_row(name, share, total));
            }
        }
        let of_shown: usize = shown.iter().map(|cpu| cpu.by.len().saturating_sub(causes)).sum();
        let other_cpus = if shown.len() < self.run.cpus.len() { ", and those of other CPUs" } else { "" };
        let more = match (of_shown, other_cpus) {
            (0, "") => String::new(),
            (0, _) => "  Causes of the other CPUs: `--details`.\n".to_owned(),
            _ => more(of_shown, &format!("smaller causes{other_cpus}")),
        };
        format!("{}\n{}{}\n", paint(HEADING, "What had the CPU:"), table.text(width), more)
    }

    fn cause_row(&self, name: String, share: &GapShare, total: u64) -> Vec<String> {
        let longest = if share.gaps == 0 { "–".to_owned() } else { micros_of(share.longest) };
        vec![
            name,
            cause(&share.cause, self.is_guest),
            count(share.gaps),
            micros_of(share.total),
            percent(share.total.as_nanos() as f64 / total.max(1) as f64),
            longest,
        ]
    }

    fn stalls(&self, width: usize) -> String {
        let stalls = &self.run.stalls;
        if self.run.cpus.len() < 2 {
            return String::new();
        }
        let text = match stalls.worst.first() {
            None => "The measured CPUs were never all in a gap at the same time.".to_owned(),
            Some(longest) => format!(
                "All measured CPUs were in a gap at the same time {}, {} together; the longest took {}.",
                times(stalls.count),
                Latency::from_span(stalls.total),
                Latency::from_span(longest.length)
            ),
        };
        format!("{}\n\n", wrapped(&text, width, 0))
    }

    /// A note where other programs used much of a CPU.
    fn other_programs(&self) -> Option<String> {
        let part = |cpu: &CpuGaps| {
            let waited = cpu.counted.waited.unwrap_or_default().as_secs_f64();
            waited / cpu.counted.lasted.as_secs_f64().max(1e-9)
        };
        let most = self.run.cpus.iter().max_by(|cpu, other| part(cpu).total_cmp(&part(other)))?;
        (part(most) >= MUCH).then(|| {
            let (share, cpu) = (percent(part(most)), most.counted.cpu);
            format!(
                "Other programs had {share} of CPU {cpu} while it ran: they are part of what was measured."
            )
        })
    }

    /// Caveats, and what would help.
    fn notes(&self, width: usize) -> String {
        let run = &self.run;
        let lost: u64 = run.cpus.iter().map(|cpu| cpu.counted.lost).sum();
        let notes = [
            self.other_programs().or_else(|| self.busy.as_ref().and_then(busy)),
            run.interrupted.then(|| "It was ended before its time.".to_owned()),
            (!run.leaves_one).then(|| "Every CPU that this process may use was measured, so howlate's own monitoring thread is in the gaps, 20 times a second.".to_owned()),
            moved(&run.moved()),
            (lost > 0).then(|| format!("{} gaps came faster than they could be told apart; they are in the counts only.", count(lost))),
            (run.events_lost > 0).then(|| format!("{} events of the kernel were lost; gaps around them are not traced.", count(run.events_lost))),
            run.not_traced.as_ref().map(|refused| format!("What had the CPU is not known: {refused}")),
        ];
        let note = |text: String| format!("{}\n", wrapped(&format!("{} {text}", paint(WARN, "!")), width, 2));
        let notes: String = notes.into_iter().flatten().map(note).collect();
        if notes.is_empty() { notes } else { format!("{notes}\n") }
    }

    /// Steal time, interrupts and waits by the kernel's accounting.
    fn accounts(&self, detail: Detail, width: usize) -> String {
        let account = |cpu: &CpuGaps| {
            let parts = [
                cpu.counted.waited.map(|waited| format!("{} to other threads", rough(waited))),
                cpu.account
                    .stolen
                    .map(|stolen| format!("{} to the hypervisor as far as that tells of it", rough(stolen))),
                cpu.account.nmis.map(|nmis| format!("{} NMIs", count(nmis))),
                cpu.account.smis.map(|smis| format!("{} SMIs", count(smis))),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            (!parts.is_empty()).then(|| {
                format!("CPU {}, by the kernel's own account: {}.", cpu.counted.cpu, parts.join(", "))
            })
        };
        let lines: String = self
            .worst(limits(detail).explained)
            .into_iter()
            .filter_map(account)
            .map(|line| format!("{}\n", paint(DIM, wrapped(&line, width, 2))))
            .collect();
        if lines.is_empty() { lines } else { format!("{lines}\n") }
    }
}

fn more(not_shown: usize, rows: &str) -> String {
    if not_shown == 0 {
        String::new()
    } else {
        format!("  {} more {rows}: `--details`.\n", count(not_shown as u64))
    }
}

/// The note that other programs were running.
fn busy(caveat: &Caveat) -> Option<String> {
    let Caveat::MachineBusy { load_average_percent, cpus } = caveat else { return None };
    let (whole, part) = (load_average_percent / 100, load_average_percent / 10 % 10);
    Some(format!(
        "Other programs were running when it began (load average {whole}.{part} on {cpus} CPUs): they are part of what was measured."
    ))
}

fn times(number: u64) -> String {
    if number == 1 { "once".to_owned() } else { format!("{} times", count(number)) }
}

/// Share of the time; small shares in ppm.
fn lost(cpu: &CpuGaps) -> String {
    match cpu.ppm() {
        much if much >= 10_000.0 => percent(much / 1e6),
        _ => format!("{} ppm", ppm(cpu)),
    }
}

fn per_second(cpu: &CpuGaps) -> String {
    let rate = cpu.counted.gaps as f64 / cpu.counted.lasted.as_secs_f64().max(1e-9);
    if rate < 10.0 { format!("{rate:.1}") } else { count(in_time(cpu.counted.gaps, cpu, 1_000_000_000)) }
}

fn ppm(cpu: &CpuGaps) -> String {
    let ppm = cpu.ppm();
    if ppm < 100.0 {
        format!("{ppm:.1}")
    } else {
        count(in_time(cpu.counted.total.as_nanos(), cpu, 1_000_000))
    }
}

/// Rounded `number` per `parts` of the time.
fn in_time(number: u64, cpu: &CpuGaps, parts: u64) -> u64 {
    let lasted = u128::from(cpu.counted.lasted.as_nanos().max(1));
    let rounded = (u128::from(number) * u128::from(parts) + lasted / 2) / lasted;
    u64::try_from(rounded).unwrap_or(u64::MAX)
}
