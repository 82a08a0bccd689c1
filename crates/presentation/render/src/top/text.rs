//! The table of `howlate top`.

use howlate_analyse::waits::{WaitKind, WaitNature, WaitOrder, WaitTotal, WaiterTotals};
use howlate_model::{Latency, Span};

use super::rows::{WORTH, WaiterWait, has, is_worth};
use super::wording::{RivalDetail, nature, wait};
use super::{TopBy, TopReport, TopView};
use crate::cause_words::percent;
use crate::numbers::{count, rough};
use crate::prose::{text_width, wrapped};
use crate::style::{DIM, HEADING, WARN, paint};
use crate::table::TextTable;
use crate::untrusted_text::legible;

/// Longer durations are shown in minutes.
const MINUTES: Span = Span::from_secs(100);
/// Default rows of a table, and of each part with details.
const BRIEF: usize = 12;
const FULL: usize = 20;
/// Lines besides the rows: headings and notes.
const AROUND: usize = 18;
/// Columns to the left and right of a name on its own line.
const INDENT: usize = 4;

impl TopReport {
    /// The text output, `width` columns wide.
    pub fn text(&self, view: &TopView, width: usize) -> String {
        if view.by == TopBy::Culprit {
            return self.culprits(view, width);
        }
        let waiters = self.waiters(view);
        let waiters: Vec<&WaiterTotals> = waiters.iter().map(AsRef::as_ref).collect();
        let mut rows = rows(&waiters, view);
        view.order.sort(&mut rows);
        let all = rows.len();
        rows.retain(|(_, wait)| view.shows_as_asked() || wait.reason.kind.nature() != WaitNature::AsAsked);
        let as_asked = all - rows.len();
        // What holds up work comes last, next to the prompt.
        let parts = match view.order {
            WaitOrder::HeldUp => WaitNature::ALL
                .into_iter()
                .rev()
                .map(|kind| part(kind, &rows, view, width))
                .collect::<String>(),
            _ => table(&rows, view, room(view), width),
        };
        let nothing = format!("  {}\n\n", self.nothing(view));
        let parts = if parts.is_empty() { nothing } else { parts };
        format!(
            "{}\n\n{}{}{parts}{}",
            self.title(width),
            self.lost_lines(width),
            self.how_lines(&waiters, as_asked, view, width),
            places(&rows, view, width),
        )
    }

    /// Who had CPUs that others waited for.
    fn culprits(&self, view: &TopView, width: usize) -> String {
        let headings = ["culprit", "pid", "held up", "others", "time", "of all"].map(str::to_owned);
        let rows = self.rows(view, false);
        let filter = view.filter.to_lowercase();
        let matches =
            |row: &&super::TopRow| format!("{} {}", row.name, row.what).to_lowercase().contains(&filter);
        let matching: Vec<&super::TopRow> = rows.iter().filter(matches).collect();
        let table_of = |most: usize, held_up: fn(&super::TopRow) -> &String| {
            let mut table = TextTable::new(&headings, 1);
            table.left(2);
            matching.iter().take(most).for_each(|row| table.row(culprit(row, held_up)));
            table
        };
        let [whole, half] = [room(view), halved(room(view), view)];
        let tables = [(whole, table_of(whole, |row| &row.what)), (whole, table_of(whole, |row| &row.short))];
        let fits = tables.into_iter().find(|(_, table)| table.stands_side_by_side(width));
        let (shown, table) = fits.unwrap_or_else(|| (half, table_of(half, |row| &row.short)));
        let more = more(matching.len().saturating_sub(shown), view);
        let nothing = if rows.is_empty() { "  No waits for a busy CPU.\n" } else { "" };
        let how = "Of all: share of the time that threads were ready to run without a CPU. Who had it is recorded for waits of at least 20 µs.";
        let below = paint(DIM, wrapped(&format!("  {how}"), width, 2));
        format!(
            "{}\n\n{}{}{more}{nothing}\n{below}\n",
            self.title(width),
            self.lost_lines(width),
            table.text(width),
        )
    }

    fn title(&self, width: usize) -> String {
        let (processes, threads) = (self.table.processes.iter(), self.table.threads.len());
        let alive = processes.filter(|process| process.pid.is_some()).count();
        let what = format!(
            "Who waits for what · {} · {} CPUs, {} processes, {} threads",
            rough(self.lasted),
            self.cpus,
            count(alive as u64),
            count(threads as u64)
        );
        paint(HEADING, wrapped(&what, width, 0))
    }

    fn nothing(&self, view: &TopView) -> String {
        if let Some(group) = view.group.as_ref().filter(|_| !self.has(view)) {
            return format!("No process is in the control group `{}`.", legible(group));
        }
        match &view.process {
            Some(process) if !self.has(view) => format!("No process `{}` was seen.", legible(process)),
            _ if !view.filter.is_empty() => format!("no rows match `{}`", legible(&view.filter)),
            _ => "Nothing waited for 0.1 % of its time.".to_owned(),
        }
    }

    /// What the table leaves out, and how it was measured.
    fn how_lines(&self, waiters: &[&WaiterTotals], as_asked: usize, view: &TopView, width: usize) -> String {
        let note = |text: String| format!("{}\n", paint(DIM, wrapped(&text, width, 2)));
        let without_work =
            waiters.iter().filter(|waiter| !view.shows_threads() && is_without_work(waiter)).count();
        let mut text = note(format!("  {}", self.how()));
        if without_work > 0 {
            let threads = if without_work == 1 { "thread" } else { "threads" };
            let number = count(without_work as u64);
            let is_exact = self.source != "proc";
            let or = if is_exact { "" } else { ", according to its accounts" };
            text.push_str(&note(format!("  {number} {threads} of the kernel had no work{or}.")));
        }
        if as_asked > 0 {
            let waits = if as_asked == 1 { "wait" } else { "waits" };
            let number = count(as_asked as u64);
            text.push_str(&note(format!(
                "  {number} {waits} of threads that sleep or are idle: `--details`."
            )));
        }
        format!("{text}\n")
    }

    /// Caveats, one line each.
    fn lost_lines(&self, width: usize) -> String {
        let line = |text: String| format!("{}\n", wrapped(&format!("{} {text}", paint(WARN, "!")), width, 2));
        self.doubts().into_iter().map(line).collect()
    }

    /// What makes the numbers uncertain.
    pub fn doubts(&self) -> Vec<String> {
        let refused = self.refused.iter().map(|why| format!("Tracer bpf: {why}."));
        refused.chain(self.lost()).collect()
    }

    /// How the waits were measured.
    fn how(&self) -> String {
        let needs_sample = |wait: &&WaitTotal| wait.reason.kind != WaitKind::Cpu;
        let waits = || self.table.processes.iter().flat_map(|process| &process.waits).filter(needs_sample);
        let (all, sampled): (u64, u64) =
            waits().fold((0, 0), |(all, sampled), wait| (all + wait.sum.count, sampled + wait.sum.looked_at));
        let (sampled, all) = (count(sampled), count(all));
        let how = match self.source {
            "proc" => format!(
                "Every wait is counted, by the kernel's accounts in /proc. Reasons are sampled every 100 ms, where permitted: {sampled} samples of \
                 {all} waits. Who had the CPU is unknown; max is a lower bound."
            ),
            tracer => format!(
                "Every wait is counted, by tracer {tracer}. Reasons were sampled in {sampled} of {all} waits; for the rest, \
                 the thread's last known reason in the same call is taken."
            ),
        };
        format!("Time: share of its threads' time. {how}")
    }

    fn lost(&self) -> Vec<String> {
        let lost = self.table.lost;
        let kinds = [
            (lost.unseen, "waits were not seen to begin or to end, and are not counted"),
            (lost.threads, "threads ended before all of their waits were read"),
            (lost.stacks, "kernel stacks could not be stored"),
        ];
        let some = kinds.into_iter().filter(|(number, _)| *number > 0);
        some.map(|(number, what)| format!("{} {what}.", count(number))).collect()
    }
}

/// Whether a kernel thread only waited for work.
fn is_without_work(waiter: &WaiterTotals) -> bool {
    let is_idle = |wait: &WaitTotal| matches!(wait.reason.kind, WaitKind::Idle | WaitKind::NotSeen);
    waiter.of_kernel && waiter.waits.iter().all(|wait| is_idle(wait) || wait.share < WORTH)
}

/// The waits that are selected and significant.
fn rows<'a>(waiters: &[&'a WaiterTotals], view: &TopView) -> Vec<WaiterWait<'a>> {
    let all = waiters.iter().flat_map(|waiter| waiter.waits.iter().map(|wait| (*waiter, wait)));
    let all = all.filter(|(waiter, wait)| is_worth(waiter, wait, view));
    let filter = view.filter.to_lowercase();
    all.filter(|row| filter.is_empty() || has(row, &filter)).collect()
}

/// Number of rows that a part has room for.
fn room(view: &TopView) -> usize {
    let most = if view.details { FULL } else { BRIEF };
    view.rows.map_or(most, |rows| rows.saturating_sub(AROUND).max(3))
}

/// Half the room where each row takes two lines, unless with `--details`.
const fn halved(room: usize, view: &TopView) -> usize {
    if view.details { room } else { room.div_ceil(2) }
}

fn more(not_shown: usize, view: &TopView) -> String {
    let place = if view.details { "`--json --details` has all" } else { "`--details`" };
    if not_shown == 0 { String::new() } else { format!("  {} more: {place}.\n", count(not_shown as u64)) }
}

/// The waits of one nature; empty without any. Each has a third of the room, on an unlimited page held-up work two thirds.
fn part(kind: WaitNature, rows: &[WaiterWait<'_>], view: &TopView, width: usize) -> String {
    let waits: Vec<WaiterWait<'_>> =
        rows.iter().filter(|(_, wait)| wait.reason.kind.nature() == kind).copied().collect();
    let third = (room(view) / 3).max(2);
    let room = match (view.rows, kind) {
        (None, _) if view.details => room(view),
        (None, WaitNature::HeldUp) => 2 * third,
        _ => third,
    };
    match waits.is_empty() {
        true => String::new(),
        false => format!("{}\n{}", wrapped(nature(kind), width, 2), table(&waits, view, room, width)),
    }
}

fn table(rows: &[WaiterWait<'_>], view: &TopView, room: usize, width: usize) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let first = |room: usize| &rows[..if view.process.is_some() { rows.len() } else { room.min(rows.len()) }];
    let table_of = |rivals| columns(first(room), view, rivals);
    let fits = RivalDetail::ALL.into_iter().map(table_of).find(|table| table.stands_side_by_side(width));
    let (table, shown) = match fits {
        Some(table) => (table, first(room).len()),
        None => {
            // Rows of two lines.
            let rows = first(halved(room, view));
            (narrow(rows, view, width), rows.len())
        }
    };
    let more = more(rows.len().saturating_sub(shown), view);
    format!("{}{more}\n", table.text(width))
}

fn columns(rows: &[WaiterWait<'_>], view: &TopView, rivals: RivalDetail) -> TextTable {
    let who = match view.by {
        TopBy::Group => ["group", "pid", "threads"],
        _ if view.shows_threads() => ["thread", "tid", "pid"],
        _ => ["process", "pid", "threads"],
    };
    let numbers = ["waits for", "waits", "mean", "max", "time"];
    let headings: Vec<String> = who.into_iter().chain(numbers).map(str::to_owned).collect();
    let mut table = TextTable::new(&headings, 1);
    table.left(3);
    rows.iter().for_each(|row| table.row(cells(row, view, rivals)));
    table
}

fn cells((waiter, waited): &WaiterWait<'_>, view: &TopView, rivals: RivalDetail) -> Vec<String> {
    let number = |number: Option<u32>| number.map_or_else(|| "–".to_owned(), |number| number.to_string());
    let name = legible(&waiter.name).into_owned();
    let mut cells = if view.shows_threads() {
        vec![name, number(waiter.tid), number(waiter.pid)]
    } else {
        let threads = if waiter.ended == 0 || waiter.pid.is_some() {
            count(waiter.threads)
        } else {
            format!("{} ended", count(waiter.ended))
        };
        vec![name, number(waiter.pid), threads]
    };
    cells.extend([
        wait(waited, rivals),
        count(waited.sum.count),
        span(waited.sum.mean()),
        format!("{}{}", span(waited.sum.longest), if waited.sum.ongoing > 0 { "+" } else { "" }),
        percent(waited.share),
    ]);
    cells
}

fn culprit(row: &super::TopRow, held_up: fn(&super::TopRow) -> &String) -> Vec<String> {
    vec![
        row.name.clone(),
        row.id.map_or_else(|| "–".to_owned(), |pid| pid.to_string()),
        held_up(row).clone(),
        count(row.sum.count),
        span(row.sum.time),
        percent(row.share),
    ]
}

/// With the unit, because durations range from microseconds to hours.
fn span(span: Span) -> String {
    if span >= MINUTES { rough(span) } else { Latency::from_span(span).to_string() }
}

/// Name and reason on one line, numbers on the next.
fn narrow(rows: &[WaiterWait<'_>], view: &TopView, width: usize) -> TextTable {
    let names_with =
        |rivals| -> Vec<String> { rows.iter().map(|row| name_and_wait(row, view, rivals)).collect() };
    let is_one_line = |names: &Vec<String>| names.iter().all(|name| text_width(name) + INDENT <= width);
    let names = RivalDetail::ALL
        .into_iter()
        .map(names_with)
        .find(is_one_line)
        .unwrap_or_else(|| names_with(RivalDetail::Name));
    let headings = ["", "waits", "mean", "max", "time"].map(str::to_owned);
    let mut table = TextTable::new(&headings, 1);
    for (row, name) in rows.iter().zip(names) {
        let numbers = cells(row, view, RivalDetail::Name).split_off(4);
        table.row(std::iter::once(name).chain(numbers).collect());
    }
    table
}

/// `bash, pid 412 · pipe: reading a pipe`; for ended processes, the number of threads.
fn name_and_wait((waiter, waited): &WaiterWait<'_>, view: &TopView, rivals: RivalDetail) -> String {
    let id = match (waiter.tid.filter(|_| view.shows_threads()), waiter.pid) {
        (Some(tid), _) => format!(", tid {tid}"),
        (None, Some(pid)) => format!(", pid {pid}"),
        (None, None) if view.shows_threads() || view.by == TopBy::Group => String::new(),
        (None, None) => format!(", {} ended", count(waiter.ended)),
    };
    format!("{}{id} · {}", legible(&waiter.name), wait(waited, rivals))
}

/// For a single process: where in the kernel it waited, once per reason.
fn places(rows: &[WaiterWait<'_>], view: &TopView, width: usize) -> String {
    if view.process.is_none() {
        return String::new();
    }
    let mut seen = Vec::new();
    let mut text = String::new();
    for (_, waited) in rows.iter().filter(|(_, waited)| !waited.functions.is_empty()) {
        if !seen.contains(&&waited.reason) {
            seen.push(&waited.reason);
            let place = format!("{}: {}", wait(waited, RivalDetail::Two), waited.functions.join(" < "));
            text.push_str(&format!("  {}\n", wrapped(&legible(&place), width.saturating_sub(2), 4)));
        }
    }
    if text.is_empty() {
        text
    } else {
        format!("Where in the kernel, the innermost function first\n{text}\n")
    }
}
