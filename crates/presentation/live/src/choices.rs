//! What keys and the mouse have chosen.

use std::collections::HashMap;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use howlate_render::TopBy;
use ratatui::layout::{Position, Rect};

use crate::keys::{Action, BINDINGS, action, leaves_help};
use crate::screenful::{Asked, Grid, Panel, Row, Screenful};

/// What an event came to, beside what it has changed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// To nothing more.
    Nothing,
    /// Something else is to be looked up: what is selected, or how rows are told apart.
    Otherwise,
    /// It is enough.
    End {
        /// What was last shown stays.
        standing: bool,
    },
    /// The program is to stop, as any would at Ctrl-Z.
    Stop,
    /// Maxima begin anew.
    ResetMaximum,
    /// This moment is to be marked.
    Mark,
    /// What all CPUs have done just now is to be kept.
    Timeline,
}

/// What is selected in a table, and what of it is in sight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// The row, whatever its place becomes; the first where none was chosen.
    pub(crate) selected: Option<u64>,
    /// Rows above those in sight.
    pub(crate) above: usize,
}

/// How far a window of time can be narrowed: the 1 024th part.
const MOST_NARROW: u32 = 10;

/// What keys and the mouse have chosen.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    /// The panel that keys are for.
    pub(crate) focus: Panel,
    /// The only panel that is shown.
    pub(crate) expanded: Option<Panel>,
    pub(crate) help: bool,
    /// Rows above those of the help in sight.
    pub(crate) help_above: usize,
    pub(crate) is_frozen: bool,
    pub(crate) filter: String,
    pub(crate) is_typing: bool,
    /// The column that rows are sorted by; `None`: as they come.
    pub(crate) sort: Option<usize>,
    pub(crate) is_reversed: bool,
    /// How often the window of time was halved.
    pub(crate) narrowed: u32,
    /// Each CPU has a row of its own.
    pub(crate) each: bool,
    /// Waits of those that have nothing to do have rows as well.
    pub(crate) idle: bool,
    /// What has a row, counted through.
    pub(crate) by: usize,
    pub(crate) places: HashMap<Panel, Place>,
    /// Where panels were last painted, for the mouse, and how many rows they had room for.
    pub(crate) areas: Vec<(Panel, Rect)>,
}

impl Choices {
    pub(crate) fn new() -> Self {
        Self {
            focus: Panel::Table,
            expanded: None,
            help: false,
            help_above: 0,
            is_frozen: false,
            filter: String::new(),
            is_typing: false,
            sort: None,
            is_reversed: false,
            narrowed: 0,
            each: false,
            idle: false,
            by: 0,
            places: HashMap::new(),
            areas: Vec::new(),
        }
    }

    /// What somebody looks at.
    pub(crate) fn asked(&self) -> Asked {
        Asked { selected: self.selected(Panel::Table), each: self.each, idle: self.idle, by: self.by }
    }

    /// Takes what came from the terminal.
    pub(crate) fn take(&mut self, event: &Event, shown: &Screenful) -> Came {
        match event {
            Event::Key(key) if self.is_typing => self.typed(key),
            Event::Key(key) if self.help && leaves_help(key) => {
                self.help = false;
                Came::Nothing
            }
            Event::Key(key) => action(key).map_or(Came::Nothing, |one| self.act(one, shown)),
            Event::Mouse(mouse) => self.pointed(mouse, shown),
            _ => Came::Nothing,
        }
    }

    fn typed(&mut self, key: &KeyEvent) -> Came {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match action(key) {
                Some(Action::End) => Came::End { standing: false },
                Some(Action::Stop) => Came::Stop,
                _ => Came::Nothing,
            };
        }
        match key.code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(letter) => self.filter.push(letter),
            _ => {}
        }
        Came::Otherwise
    }

    fn act(&mut self, action: Action, shown: &Screenful) -> Came {
        match action {
            Action::Up => return self.moved(shown, |place, _| place.saturating_sub(1)),
            Action::Down => return self.moved(shown, |place, _| place + 1),
            Action::PageUp => return self.moved(shown, usize::saturating_sub),
            Action::PageDown => return self.moved(shown, |place, page| place + page),
            Action::First => return self.moved(shown, |_, _| 0),
            Action::Last => return self.moved(shown, |_, _| usize::MAX),
            Action::NextPanel | Action::Right => self.focus_next(shown, 1),
            Action::PreviousPanel | Action::Left => self.focus_next(shown, -1),
            Action::Detail => self.detail(shown),
            Action::Back => self.back(),
            Action::Expand => {
                self.expanded = if self.expanded.is_some() { None } else { Some(self.focus) };
            }
            Action::Filter => (self.is_typing, self.help) = (true, false),
            Action::Sort => {
                let columns = shown.table.columns.len();
                self.sort = match self.sort {
                    None if columns > 0 => Some(0),
                    Some(column) if column + 1 < columns => Some(column + 1),
                    _ => None,
                };
            }
            Action::Reverse => self.is_reversed = !self.is_reversed,
            Action::Freeze => self.is_frozen = !self.is_frozen,
            Action::ShorterWindow => self.narrowed = (self.narrowed + 1).min(MOST_NARROW),
            Action::LongerWindow => self.narrowed = self.narrowed.saturating_sub(1),
            Action::WholeWindow => self.narrowed = 0,
            Action::ResetMaximum if shown.can_reset => return Came::ResetMaximum,
            Action::EachByItself if shown.each_cpu => {
                self.each = !self.each;
                return Came::Otherwise;
            }
            Action::Idle if shown.by.is_some() => {
                self.idle = !self.idle;
                return Came::Otherwise;
            }
            Action::By if shown.by.is_some() => {
                self.by = (self.by + 1) % TopBy::ALL.len();
                // The columns are others.
                self.sort = None;
                return Came::Otherwise;
            }
            Action::Mark if shown.can_mark => return Came::Mark,
            Action::Timeline if shown.can_write_timelines => return Came::Timeline,
            // It is not for this screen.
            Action::ResetMaximum
            | Action::EachByItself
            | Action::Idle
            | Action::By
            | Action::Mark
            | Action::Timeline => {}
            Action::Help => (self.help, self.help_above) = (!self.help, 0),
            Action::End => return Came::End { standing: false },
            Action::EndStanding => return Came::End { standing: true },
            Action::Stop => return Came::Stop,
        }
        Came::Nothing
    }

    /// Moves what is selected in the panel of the keys; `to` is told where it is, and the rows of a page.
    fn moved(&mut self, shown: &Screenful, to: impl Fn(usize, usize) -> usize) -> Came {
        if self.help {
            self.help_above =
                to(self.help_above, self.room(Panel::Table)).min(BINDINGS.len() + shown.legend.len());
            return Came::Nothing;
        }
        let panel = self.focus;
        let Some(grid) = shown.grid(panel, self.selected(Panel::Late)) else { return Came::Nothing };
        let rows = self.rows(panel, grid);
        let Some(last) = rows.len().checked_sub(1) else { return Came::Nothing };
        let now = self.number_of_selected(panel, &rows);
        let next = rows[to(now, self.room(panel)).min(last)].key;
        self.places.entry(panel).or_default().selected = Some(next);
        if panel == Panel::Table { Came::Otherwise } else { Came::Nothing }
    }

    /// Rows that a panel had room for, below its heading.
    fn room(&self, panel: Panel) -> usize {
        let area = self.areas.iter().find(|(one, _)| *one == panel);
        area.map_or(10, |(_, area)| usize::from(area.height.saturating_sub(1)).max(1))
    }

    /// The next panel that is there and in sight, or the one before.
    fn focus_next(&mut self, shown: &Screenful, step: isize) {
        let is_there = |panel: &Panel| {
            shown.has(*panel) && (self.expanded.is_some() || self.areas.iter().any(|(one, _)| one == panel))
        };
        let there: Vec<Panel> = Panel::ALL.into_iter().filter(is_there).collect();
        let now = there.iter().position(|panel| *panel == self.focus).unwrap_or(0);
        let next = now.checked_add_signed(step).unwrap_or(there.len().saturating_sub(1));
        self.focus = there.get(next).or_else(|| there.first()).copied().unwrap_or_default();
        if self.expanded.is_some() {
            self.expanded = Some(self.focus);
        }
    }

    /// What a row is made of: of the table its history, of a late wake-up its parts.
    fn detail(&mut self, shown: &Screenful) {
        let next = match self.focus {
            Panel::Table if shown.has(Panel::HeatMap) => Panel::HeatMap,
            Panel::Table => Panel::History,
            Panel::Late => Panel::Parts,
            other => other,
        };
        if shown.has(next) {
            (self.focus, self.expanded) = (next, Some(next));
        }
    }

    fn back(&mut self) {
        if self.help {
            self.help = false;
        } else if let Some(expanded) = self.expanded.take() {
            self.focus = match expanded {
                Panel::Parts => Panel::Late,
                Panel::HeatMap | Panel::History => Panel::Table,
                other => other,
            };
        } else {
            self.filter.clear();
        }
    }

    fn pointed(&mut self, mouse: &MouseEvent, shown: &Screenful) -> Came {
        let at = Position { x: mouse.column, y: mouse.row };
        let Some((panel, area)) = self.areas.iter().find(|(_, area)| area.contains(at)).copied() else {
            return Came::Nothing;
        };
        match mouse.kind {
            MouseEventKind::ScrollUp => {
                self.focus = panel;
                self.moved(shown, |place, _| place.saturating_sub(1))
            }
            MouseEventKind::ScrollDown => {
                self.focus = panel;
                self.moved(shown, |place, _| place + 1)
            }
            MouseEventKind::Down(MouseButton::Left) => {
                self.focus = panel;
                let above = self.places.get(&panel).map_or(0, |place| place.above);
                match usize::from(mouse.row - area.y).checked_sub(HEADING_ROWS) {
                    Some(row) => self.moved(shown, |_, _| above + row),
                    None => Came::Nothing,
                }
            }
            _ => Came::Nothing,
        }
    }

    /// The rows of a table, as they are chosen now. Only the table of rows is filtered and sorted.
    pub(crate) fn rows<'a>(&self, panel: Panel, grid: &'a Grid) -> Vec<&'a Row> {
        let mut rows: Vec<&Row> = grid.rows.iter().collect();
        if panel != Panel::Table {
            return rows;
        }
        let filter = self.filter.to_lowercase();
        rows.retain(|row| row.cells.iter().any(|cell| cell.text.to_lowercase().contains(&filter)));
        if let Some(column) = self.sort {
            let cell = |row: &&Row| row.cells.get(column).cloned().unwrap_or_default();
            rows.sort_by(|one, other| match (cell(one).number, cell(other).number) {
                // The largest first: it is what people look for.
                (Some(one), Some(other)) => other.total_cmp(&one),
                _ => cell(one).text.cmp(&cell(other).text),
            });
        }
        if self.is_reversed {
            rows.reverse();
        }
        rows
    }

    /// The key of what is selected in a panel, if anything was chosen.
    pub(crate) fn selected(&self, panel: Panel) -> Option<u64> {
        self.places.get(&panel).and_then(|place| place.selected)
    }

    /// The place of the selected row among `rows`; the first where it is gone.
    pub(crate) fn number_of_selected(&self, panel: Panel, rows: &[&Row]) -> usize {
        let selected = self.selected(panel);
        rows.iter().position(|row| Some(row.key) == selected).unwrap_or(0)
    }

    /// Moves what is in sight of `all` rows so that the selected one is; returns how many are above.
    pub(crate) fn scroll(&mut self, panel: Panel, selected: usize, all: usize, room: usize) -> usize {
        let place = self.places.entry(panel).or_default();
        let last = all.saturating_sub(room);
        place.above = place.above.clamp((selected + 1).saturating_sub(room), selected).min(last);
        place.above
    }
}

/// Rows of a table's panel above its first row: its title, and the headings of the columns.
pub(crate) const HEADING_ROWS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screenful::{Cell, Column};

    fn shown() -> Screenful {
        let row = |(name, late): (&str, f64)| Row {
            key: name.len() as u64,
            cells: vec![Cell::text(name), Cell::number(late.to_string(), late)],
            ..Row::default()
        };
        let table = Grid {
            columns: vec![Column::growing("name", 5), Column::number("late", 5, 0)],
            rows: [("bb", 5.0), ("a", 9.0), ("ccc", 7.0)].map(row).into(),
            ..Grid::default()
        };
        Screenful { table, ..Screenful::default() }
    }

    fn press(choices: &mut Choices, keys: &str) -> Came {
        let mut came = Came::Nothing;
        for letter in keys.chars() {
            let code = match letter {
                '\n' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                '\u{8}' => KeyCode::Backspace,
                letter => KeyCode::Char(letter),
            };
            came = choices.take(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)), &shown());
        }
        came
    }

    fn names(choices: &Choices) -> Vec<String> {
        let shown = shown();
        choices.rows(Panel::Table, &shown.table).iter().map(|row| row.cells[0].text.clone()).collect()
    }

    #[test]
    fn rows_are_sorted_reversed_and_filtered() {
        let mut choices = Choices::new();
        assert_eq!(names(&choices), ["bb", "a", "ccc"], "as they come");
        press(&mut choices, "s");
        assert_eq!(names(&choices), ["a", "bb", "ccc"]);
        press(&mut choices, "s");
        assert_eq!(names(&choices), ["a", "ccc", "bb"], "the largest number first");
        press(&mut choices, "r");
        assert_eq!(names(&choices), ["bb", "ccc", "a"]);
        press(&mut choices, "rs/Cq\u{8}");
        assert_eq!(names(&choices), ["ccc"], "q is a letter of a filter");
        press(&mut choices, "\n");
        assert!(!choices.is_typing && choices.filter == "C");
        press(&mut choices, "\u{1b}");
        assert_eq!(names(&choices).len(), 3);
    }

    #[test]
    fn a_row_stays_selected_when_the_order_changes() {
        let mut choices = Choices::new();
        assert_eq!(press(&mut choices, "j"), Came::Otherwise);
        assert_eq!(choices.selected(Panel::Table), Some(1), "the second, a");
        press(&mut choices, "ss");
        let shown = shown();
        let rows = choices.rows(Panel::Table, &shown.table);
        assert_eq!(choices.number_of_selected(Panel::Table, &rows), 0);
        press(&mut choices, "jjjjk");
        assert_eq!(choices.selected(Panel::Table), Some(3), "ccc stands before the last");
    }

    #[test]
    fn what_is_selected_is_in_sight() {
        let mut choices = Choices::new();
        let mut above = |selected, all, room| choices.scroll(Panel::Table, selected, all, room);
        assert_eq!(above(0, 100, 10), 0);
        assert_eq!(above(9, 100, 10), 0);
        assert_eq!(above(10, 100, 10), 1);
        assert_eq!(above(5, 100, 10), 1, "it is in sight already");
        assert_eq!(above(0, 100, 10), 0);
        assert_eq!(above(99, 100, 10), 90);
        assert_eq!(above(3, 4, 10), 0, "all are in sight");
    }

    #[test]
    fn keys_end_it_in_two_ways() {
        let mut choices = Choices::new();
        assert_eq!(press(&mut choices, "q"), Came::End { standing: false });
        assert_eq!(press(&mut choices, "Q"), Came::End { standing: true });
        assert_eq!(press(&mut choices, "?"), Came::Nothing);
        assert!(choices.help);
        press(&mut choices, "\u{1b}");
        assert!(!choices.help);
        press(&mut choices, "?");
        assert_eq!(press(&mut choices, "q"), Came::Nothing, "the help is closed, and the run goes on");
        assert!(!choices.help);
        press(&mut choices, "?");
        let control_c = Event::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert_eq!(choices.take(&control_c, &shown()), Came::End { standing: false });
    }

    #[test]
    fn the_mouse_selects_and_scrolls() {
        let mut choices = Choices::new();
        choices.areas = vec![(Panel::Table, Rect::new(0, 3, 40, 6))];
        let mut point = |kind, row| {
            let mouse = MouseEvent { kind, column: 5, row, modifiers: KeyModifiers::NONE };
            choices.take(&Event::Mouse(mouse), &shown());
            choices.selected(Panel::Table)
        };
        assert_eq!(point(MouseEventKind::Down(MouseButton::Left), 7), Some(3), "the third row");
        assert_eq!(point(MouseEventKind::ScrollUp, 4), Some(1));
        assert_eq!(point(MouseEventKind::Down(MouseButton::Left), 3), Some(1), "a title is no row");
        assert_eq!(point(MouseEventKind::Down(MouseButton::Left), 20), Some(1), "nothing is there");
    }
}
