//! The table.

use howlate_analyse::waits::{WaitKind, WaitNature, WaitOrder, WaitTotal, WaiterTotals};
use howlate_model::{Latency, Span};

use super::wanted::{Row, WORTH, has, is_worth};
use super::words::{Rivals, nature, wait};
use super::{Top, TopBy, TopView};
use crate::cause_words::percent;
use crate::numbers::{count, rough};
use crate::prose::{text_width, wrapped};
use crate::style::{DIM, HEADING, WARN, paint};
use crate::table::Columns;
use crate::untrusted_text::legible;

/// From here on, seconds are not counted.
const MINUTES: Span = Span::from_secs(100);
/// Rows of a table, and of each part with details, where nothing says how many there is room for.
const BRIEF: usize = 12;
const FULL: usize = 20;
/// Lines that are no rows, at most: headings, and what is said below.
const AROUND: usize = 18;
/// Columns on both sides of who waits, where that stands on a line of its own.
const INDENT: usize = 4;

impl Top {
    /// The table for people, `width` columns wide.
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
        // What holds work up stands last, where eyes are.
        let parts = match view.order {
            WaitOrder::HeldUp => {
                WaitNature::ALL.into_iter().rev().map(|one| part(one, &rows, view, width)).collect::<String>()
            }
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

    /// Who had CPUs for which others were ready.
    fn culprits(&self, view: &TopView, width: usize) -> String {
        let headings = ["culprit", "pid", "held up", "others", "time", "of all"].map(str::to_owned);
        let rows = self.rows(view, false);
        let filter = view.filter.to_lowercase();
        let is_wanted =
            |row: &&super::TopRow| format!("{} {}", row.name, row.what).to_lowercase().contains(&filter);
        let wanted: Vec<&super::TopRow> = rows.iter().filter(is_wanted).collect();
        let of = |most: usize, held_up: fn(&super::TopRow) -> &String| {
            let mut table = Columns::new(&headings, 1);
            table.left(2);
            wanted.iter().take(most).for_each(|row| table.row(culprit(row, held_up)));
            table
        };
        let [whole, half] = [room(view), halved(room(view), view)];
        let tables = [(whole, of(whole, |row| &row.what)), (whole, of(whole, |row| &row.short))];
        let fits = tables.into_iter().find(|(_, table)| table.stands_side_by_side(width));
        let (shown, table) = fits.unwrap_or_else(|| (half, of(half, |row| &row.short)));
        let more = more(wanted.len().saturating_sub(shown), view);
        let nothing = if rows.is_empty() { "  Nobody waited for a CPU that another had.\n" } else { "" };
        let how = "Of all: the part of the time that threads were ready to run and had no CPU. Waits of 20 µs and more are asked for who had it.";
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
        let there = processes.filter(|one| one.pid.is_some()).count();
        let what = format!(
            "Who waits for what · {} · {} CPUs, {} processes, {} threads",
            rough(self.lasted),
            self.cpus,
            count(there as u64),
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
            _ => "Nothing waited for a thousandth of its time.".to_owned(),
        }
    }

    /// What the table leaves out, and how it was got.
    fn how_lines(&self, waiters: &[&WaiterTotals], as_asked: usize, view: &TopView, width: usize) -> String {
        let said = |text: String| format!("{}\n", paint(DIM, wrapped(&text, width, 2)));
        let without_work = waiters.iter().filter(|one| !view.shows_threads() && is_without_work(one)).count();
        let mut text = said(format!("  {}", self.how()));
        if without_work > 0 {
            let threads = if without_work == 1 { "thread" } else { "threads" };
            let number = count(without_work as u64);
            let is_known = self.source != "proc";
            let or = if is_known { "" } else { ", as far as its accounts tell" };
            text.push_str(&said(format!("  {number} {threads} of the kernel had no work{or}.")));
        }
        if as_asked > 0 {
            let waits = if as_asked == 1 { "wait" } else { "waits" };
            let number = count(as_asked as u64);
            text.push_str(&said(format!("  {number} {waits} as asked, or with nothing to do: `--details`.")));
        }
        format!("{text}\n")
    }

    /// What makes the numbers doubtful, a line each.
    fn lost_lines(&self, width: usize) -> String {
        let line = |text: String| format!("{}\n", wrapped(&format!("{} {text}", paint(WARN, "!")), width, 2));
        self.doubts().into_iter().map(line).collect()
    }

    /// What makes the numbers doubtful.
    pub fn doubts(&self) -> Vec<String> {
        let refused = self.refused.iter().map(|why| format!("Tracer bpf: {why}."));
        refused.chain(self.lost()).collect()
    }

    /// How the numbers were got.
    fn how(&self) -> String {
        let of_others = |one: &&WaitTotal| one.reason.kind != WaitKind::Cpu;
        let waits = || self.table.processes.iter().flat_map(|one| &one.waits).filter(of_others);
        let (all, looked): (u64, u64) =
            waits().fold((0, 0), |(all, looked), one| (all + one.sum.count, looked + one.sum.looked_at));
        let (looked, all) = (count(looked), count(all));
        let how = match self.source {
            "proc" => format!(
                "Every wait is counted, by the kernel's accounts in /proc. What for is sampled every 100 ms, of your own programs: {looked} looks at \
                 {all} waits. Behind whom is not known; max is a lower bound: the longest wait took at least that."
            ),
            tracer => format!(
                "Every wait is counted, by tracer {tracer}. Reasons were sampled in {looked} of {all} waits; for the rest, \
                 the thread's last known reason in the same call is taken."
            ),
        };
        format!("Time: the part of its threads' time. {how}")
    }

    fn lost(&self) -> Vec<String> {
        let lost = self.table.lost;
        let kinds = [
            (lost.unseen, "times without CPU were not seen to begin or to end; they are in no number"),
            (lost.threads, "threads ended without being read to the end"),
            (lost.stacks, "places in the kernel found no room"),
        ];
        let some = kinds.into_iter().filter(|(number, _)| *number > 0);
        some.map(|(number, what)| format!("{} {what}.", count(number))).collect()
    }
}

/// A thread of the kernel that only waited for work.
fn is_without_work(one: &WaiterTotals) -> bool {
    let is_idle = |wait: &WaitTotal| matches!(wait.reason.kind, WaitKind::Idle | WaitKind::NotSeen);
    one.of_kernel && one.waits.iter().all(|wait| is_idle(wait) || wait.share < WORTH)
}

/// What is worth a row: of a whole machine not what has no work, nor what hardly waits.
fn rows<'a>(waiters: &[&'a WaiterTotals], view: &TopView) -> Vec<Row<'a>> {
    let all = waiters.iter().flat_map(|one| one.waits.iter().map(|wait| (*one, wait)));
    let all = all.filter(|(one, wait)| is_worth(one, wait, view));
    let filter = view.filter.to_lowercase();
    all.filter(|row| filter.is_empty() || has(row, &filter)).collect()
}

/// Rows that a part has room for.
fn room(view: &TopView) -> usize {
    let most = if view.details { FULL } else { BRIEF };
    view.rows.map_or(most, |rows| rows.saturating_sub(AROUND).max(3))
}

/// The same where each takes two lines, and there is to be an end.
const fn halved(room: usize, view: &TopView) -> usize {
    if view.details { room } else { room.div_ceil(2) }
}

fn more(left: usize, view: &TopView) -> String {
    let place = if view.details { "`--json` has all" } else { "`--details`" };
    if left == 0 { String::new() } else { format!("  {} more: {place}.\n", count(left as u64)) }
}

/// The waits of one nature; nothing where there are none. Each has a third of the room, on a page what holds work up two.
fn part(which: WaitNature, rows: &[Row<'_>], view: &TopView, width: usize) -> String {
    let of_this: Vec<Row<'_>> =
        rows.iter().filter(|(_, wait)| wait.reason.kind.nature() == which).copied().collect();
    let third = (room(view) / 3).max(2);
    let room = match (view.rows, which) {
        (None, _) if view.details => room(view),
        (None, WaitNature::HeldUp) => 2 * third,
        _ => third,
    };
    match of_this.is_empty() {
        true => String::new(),
        false => format!("{}\n{}", wrapped(nature(which), width, 2), table(&of_this, view, room, width)),
    }
}

fn table(rows: &[Row<'_>], view: &TopView, room: usize, width: usize) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let first = |room: usize| &rows[..if view.process.is_some() { rows.len() } else { room.min(rows.len()) }];
    let of = |rivals| columns(first(room), view, rivals);
    let fits = Rivals::ALL.into_iter().map(of).find(|table| table.stands_side_by_side(width));
    let (table, shown) = match fits {
        Some(table) => (table, first(room).len()),
        None => {
            // Each takes two lines of what there are.
            let rows = first(halved(room, view));
            (narrow(rows, view, width), rows.len())
        }
    };
    let more = more(rows.len().saturating_sub(shown), view);
    format!("{}{more}\n", table.text(width))
}

fn columns(rows: &[Row<'_>], view: &TopView, rivals: Rivals) -> Columns {
    let who = match view.by {
        TopBy::Group => ["group", "pid", "threads"],
        _ if view.shows_threads() => ["thread", "tid", "pid"],
        _ => ["process", "pid", "threads"],
    };
    let numbers = ["waits for", "waits", "mean", "max", "time"];
    let headings: Vec<String> = who.into_iter().chain(numbers).map(str::to_owned).collect();
    let mut table = Columns::new(&headings, 1);
    table.left(3);
    rows.iter().for_each(|row| table.row(cells(row, view, rivals)));
    table
}

fn cells((one, of_it): &Row<'_>, view: &TopView, rivals: Rivals) -> Vec<String> {
    let number = |number: Option<u32>| number.map_or_else(|| "–".to_owned(), |number| number.to_string());
    let name = legible(&one.name).into_owned();
    let mut cells = if view.shows_threads() {
        vec![name, number(one.tid), number(one.pid)]
    } else {
        let threads = if one.ended == 0 || one.pid.is_some() {
            count(one.threads)
        } else {
            format!("{} ended", count(one.ended))
        };
        vec![name, number(one.pid), threads]
    };
    cells.extend([
        wait(of_it, rivals),
        count(of_it.sum.count),
        span(of_it.sum.mean()),
        format!("{}{}", span(of_it.sum.longest), if of_it.sum.ongoing > 0 { "+" } else { "" }),
        percent(of_it.share),
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

/// With its unit: waits of microseconds and of hours stand below one another.
fn span(span: Span) -> String {
    if span >= MINUTES { rough(span) } else { Latency::from_span(span).to_string() }
}

/// Who waits and for what on a line, the numbers below it: with numbers alone on a line, nobody knows whose they are.
fn narrow(rows: &[Row<'_>], view: &TopView, width: usize) -> Columns {
    let named = |rivals| -> Vec<String> { rows.iter().map(|row| named(row, view, rivals)).collect() };
    let is_one_line = |names: &Vec<String>| names.iter().all(|name| text_width(name) + INDENT <= width);
    let names = Rivals::ALL.into_iter().map(named).find(is_one_line).unwrap_or_else(|| named(Rivals::Name));
    let headings = ["", "waits", "mean", "max", "time"].map(str::to_owned);
    let mut table = Columns::new(&headings, 1);
    for (row, name) in rows.iter().zip(names) {
        let numbers = cells(row, view, Rivals::Name).split_off(4);
        table.row(std::iter::once(name).chain(numbers).collect());
    }
    table
}

/// `bash, pid 412 · pipe: reading a pipe`; of processes that have ended, how many threads they had.
fn named((one, of_it): &Row<'_>, view: &TopView, rivals: Rivals) -> String {
    let id = match (one.tid.filter(|_| view.shows_threads()), one.pid) {
        (Some(tid), _) => format!(", tid {tid}"),
        (None, Some(pid)) => format!(", pid {pid}"),
        (None, None) if view.shows_threads() || view.by == TopBy::Group => String::new(),
        (None, None) => format!(", {} ended", count(one.ended)),
    };
    format!("{}{id} · {}", legible(&one.name), wait(of_it, rivals))
}

/// Of one process: where in the kernel it waited, once for each reason.
fn places(rows: &[Row<'_>], view: &TopView, width: usize) -> String {
    if view.process.is_none() {
        return String::new();
    }
    let mut seen = Vec::new();
    let mut text = String::new();
    for (_, one) in rows.iter().filter(|(_, one)| !one.functions.is_empty()) {
        if !seen.contains(&&one.reason) {
            seen.push(&one.reason);
            let place = format!("{}: {}", wait(one, Rivals::Two), one.functions.join(" < "));
            text.push_str(&format!("  {}\n", wrapped(&legible(&place), width.saturating_sub(2), 4)));
        }
    }
    if text.is_empty() {
        text
    } else {
        format!("Where in the kernel, the innermost function first\n{text}\n")
    }
}
