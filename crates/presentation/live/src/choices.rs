//! What keys and the mouse have chosen.

use std::collections::HashMap;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use howlate_render::TopBy;
use ratatui::layout::{Position, Rect};

use crate::keys::{BINDINGS, KeyAction, key_action, leaves_help};
use crate::screenful::{LiveTable, LiveTableRow, Panel, Query, Screenful};

/// What the caller has to do after an event, beyond the change in `Choices`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    Nothing,
    /// The screen must be made anew: another row is selected, or rows are grouped another way.
    QueryChanged,
    Quit {
        /// Leave the last screen on the terminal.
        keep_screen: bool,
    },
    /// Stop the process, as Ctrl-Z does.
    Suspend,
    /// Start the second column of maxima.
    ResetMaximum,
    /// Mark this moment in the recording.
    Mark,
    /// Write the recent activity of all CPUs.
    Timeline,
}

/// Selection and scroll position of a table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ScrollState {
    /// Key of the selected row; the first row where `None`.
    pub(crate) selected: Option<u64>,
    /// Rows scrolled out above the visible ones.
    pub(crate) above: usize,
}

/// The shortest window of time: 1/1024 of the whole.
const MOST_NARROW: u32 = 10;

/// State of the view that keys and the mouse change.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    /// The panel that receives keys.
    pub(crate) focus: Panel,
    /// The panel that fills the screen.
    pub(crate) expanded: Option<Panel>,
    pub(crate) help: bool,
    /// Rows of the help scrolled out above.
    pub(crate) help_above: usize,
    pub(crate) is_frozen: bool,
    pub(crate) filter: String,
    pub(crate) is_typing: bool,
    /// Column that sorts the rows; `None`: in the order of the content.
    pub(crate) sort: Option<usize>,
    pub(crate) is_reversed: bool,
    /// Times that the window of time was halved.
    pub(crate) narrowed: u32,
    /// One row per CPU.
    pub(crate) each_cpu: bool,
    /// Also rows of threads that wait because they have nothing to do.
    pub(crate) idle: bool,
    /// Index into `TopBy::ALL`.
    pub(crate) group_by: usize,
    pub(crate) places: HashMap<Panel, ScrollState>,
    /// Where the panels were last painted: for the mouse, and for the size of a page.
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
            each_cpu: false,
            idle: false,
            group_by: 0,
            places: HashMap::new(),
            areas: Vec::new(),
        }
    }

    pub(crate) fn query(&self) -> Query {
        Query {
            selected: self.selected(Panel::Table),
            each_cpu: self.each_cpu,
            idle: self.idle,
            group_by: self.group_by,
        }
    }

    /// Handles an event of the terminal.
    pub(crate) fn handle(&mut self, event: &Event, screen: &Screenful) -> Reaction {
        match event {
            Event::Key(key) if self.is_typing => self.handle_filter_key(key),
            Event::Key(key) if self.help && leaves_help(key) => {
                self.help = false;
                Reaction::Nothing
            }
            Event::Key(key) => key_action(key).map_or(Reaction::Nothing, |action| self.act(action, screen)),
            Event::Mouse(mouse) => self.handle_mouse(mouse, screen),
            _ => Reaction::Nothing,
        }
    }

    fn handle_filter_key(&mut self, key: &KeyEvent) -> Reaction {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key_action(key) {
                Some(KeyAction::Quit) => Reaction::Quit { keep_screen: false },
                Some(KeyAction::Suspend) => Reaction::Suspend,
                _ => Reaction::Nothing,
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
        Reaction::QueryChanged
    }

    fn act(&mut self, action: KeyAction, screen: &Screenful) -> Reaction {
        match action {
            KeyAction::Up => return self.move_selection(screen, |row, _| row.saturating_sub(1)),
            KeyAction::Down => return self.move_selection(screen, |row, _| row + 1),
            KeyAction::PageUp => return self.move_selection(screen, usize::saturating_sub),
            KeyAction::PageDown => return self.move_selection(screen, |row, page| row + page),
            KeyAction::First => return self.move_selection(screen, |_, _| 0),
            KeyAction::Last => return self.move_selection(screen, |_, _| usize::MAX),
            KeyAction::NextPanel | KeyAction::Right => self.focus_next(screen, 1),
            KeyAction::PreviousPanel | KeyAction::Left => self.focus_next(screen, -1),
            KeyAction::Detail => self.detail(screen),
            KeyAction::Back => self.back(),
            KeyAction::Expand => {
                self.expanded = if self.expanded.is_some() { None } else { Some(self.focus) };
            }
            KeyAction::Filter => (self.is_typing, self.help) = (true, false),
            KeyAction::Sort => {
                let columns = screen.table.columns.len();
                self.sort = match self.sort {
                    None if columns > 0 => Some(0),
                    Some(column) if column + 1 < columns => Some(column + 1),
                    _ => None,
                };
            }
            KeyAction::Reverse => self.is_reversed = !self.is_reversed,
            KeyAction::Freeze => self.is_frozen = !self.is_frozen,
            KeyAction::ShorterWindow => self.narrowed = (self.narrowed + 1).min(MOST_NARROW),
            KeyAction::LongerWindow => self.narrowed = self.narrowed.saturating_sub(1),
            KeyAction::WholeWindow => self.narrowed = 0,
            KeyAction::ResetMaximum if screen.can_reset => return Reaction::ResetMaximum,
            KeyAction::EachCpu if screen.each_cpu => {
                self.each_cpu = !self.each_cpu;
                return Reaction::QueryChanged;
            }
            KeyAction::Idle if screen.group_by.is_some() => {
                self.idle = !self.idle;
                return Reaction::QueryChanged;
            }
            KeyAction::GroupBy if screen.group_by.is_some() => {
                self.group_by = (self.group_by + 1) % TopBy::ALL.len();
                // The columns change with the grouping.
                self.sort = None;
                return Reaction::QueryChanged;
            }
            KeyAction::Mark if screen.can_mark => return Reaction::Mark,
            KeyAction::Timeline if screen.can_write_timelines => return Reaction::Timeline,
            // This screen has no use for the action.
            KeyAction::ResetMaximum
            | KeyAction::EachCpu
            | KeyAction::Idle
            | KeyAction::GroupBy
            | KeyAction::Mark
            | KeyAction::Timeline => {}
            KeyAction::Help => (self.help, self.help_above) = (!self.help, 0),
            KeyAction::Quit => return Reaction::Quit { keep_screen: false },
            KeyAction::QuitKeepingScreen => return Reaction::Quit { keep_screen: true },
            KeyAction::Suspend => return Reaction::Suspend,
        }
        Reaction::Nothing
    }

    /// Moves the selection of the focused panel. `to` computes the new row from the present one and the rows of a page.
    fn move_selection(&mut self, screen: &Screenful, target: impl Fn(usize, usize) -> usize) -> Reaction {
        if self.help {
            self.help_above =
                target(self.help_above, self.room(Panel::Table)).min(BINDINGS.len() + screen.legend.len());
            return Reaction::Nothing;
        }
        let panel = self.focus;
        let Some(table) = screen.panel_table(panel, self.selected(Panel::Late)) else {
            return Reaction::Nothing;
        };
        let rows = self.rows(panel, table);
        let Some(last) = rows.len().checked_sub(1) else { return Reaction::Nothing };
        let now = self.selected_index(panel, &rows);
        let next = rows[target(now, self.room(panel)).min(last)].key;
        self.places.entry(panel).or_default().selected = Some(next);
        if panel == Panel::Table { Reaction::QueryChanged } else { Reaction::Nothing }
    }

    /// Rows that the panel showed, below its heading.
    fn room(&self, panel: Panel) -> usize {
        let area = self.areas.iter().find(|(painted, _)| *painted == panel);
        area.map_or(10, |(_, area)| usize::from(area.height.saturating_sub(1)).max(1))
    }

    /// Moves the focus to the next visible panel, or to the previous one.
    fn focus_next(&mut self, screen: &Screenful, step: isize) {
        let is_visible = |panel: &Panel| {
            screen.has(*panel)
                && (self.expanded.is_some() || self.areas.iter().any(|(painted, _)| painted == panel))
        };
        let visible: Vec<Panel> = Panel::ALL.into_iter().filter(is_visible).collect();
        let now = visible.iter().position(|panel| *panel == self.focus).unwrap_or(0);
        let next = now.checked_add_signed(step).unwrap_or(visible.len().saturating_sub(1));
        self.focus = visible.get(next).or_else(|| visible.first()).copied().unwrap_or_default();
        if self.expanded.is_some() {
            self.expanded = Some(self.focus);
        }
    }

    /// Expands the details of the selected row: the history of a condition, the parts of a late wake-up.
    fn detail(&mut self, screen: &Screenful) {
        let next = match self.focus {
            Panel::Table if screen.has(Panel::HeatMap) => Panel::HeatMap,
            Panel::Table => Panel::History,
            Panel::Late => Panel::Parts,
            panel => panel,
        };
        if screen.has(next) {
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
                panel => panel,
            };
        } else {
            self.filter.clear();
        }
    }

    fn handle_mouse(&mut self, mouse: &MouseEvent, screen: &Screenful) -> Reaction {
        let position = Position { x: mouse.column, y: mouse.row };
        let Some((panel, area)) = self.areas.iter().find(|(_, area)| area.contains(position)).copied() else {
            return Reaction::Nothing;
        };
        match mouse.kind {
            MouseEventKind::ScrollUp => {
                self.focus = panel;
                self.move_selection(screen, |row, _| row.saturating_sub(1))
            }
            MouseEventKind::ScrollDown => {
                self.focus = panel;
                self.move_selection(screen, |row, _| row + 1)
            }
            MouseEventKind::Down(MouseButton::Left) => {
                self.focus = panel;
                let above = self.places.get(&panel).map_or(0, |place| place.above);
                match usize::from(mouse.row - area.y).checked_sub(HEADING_ROWS) {
                    Some(row) => self.move_selection(screen, |_, _| above + row),
                    None => Reaction::Nothing,
                }
            }
            _ => Reaction::Nothing,
        }
    }

    /// The rows of a table in the order shown. Only the main table is filtered and sorted.
    pub(crate) fn rows<'a>(&self, panel: Panel, table: &'a LiveTable) -> Vec<&'a LiveTableRow> {
        let mut rows: Vec<&LiveTableRow> = table.rows.iter().collect();
        if panel != Panel::Table {
            return rows;
        }
        let filter = self.filter.to_lowercase();
        rows.retain(|row| row.cells.iter().any(|cell| cell.text.to_lowercase().contains(&filter)));
        if let Some(column) = self.sort {
            let cell = |row: &&LiveTableRow| row.cells.get(column).cloned().unwrap_or_default();
            rows.sort_by(|a, b| match (cell(a).number, cell(b).number) {
                // Largest first.
                (Some(a), Some(b)) => b.total_cmp(&a),
                _ => cell(a).text.cmp(&cell(b).text),
            });
        }
        if self.is_reversed {
            rows.reverse();
        }
        rows
    }

    /// Key of the selected row of a panel; `None` where the user selected none.
    pub(crate) fn selected(&self, panel: Panel) -> Option<u64> {
        self.places.get(&panel).and_then(|place| place.selected)
    }

    /// Index of the selected row among `rows`; 0 where it has disappeared.
    pub(crate) fn selected_index(&self, panel: Panel, rows: &[&LiveTableRow]) -> usize {
        let selected = self.selected(panel);
        rows.iter().position(|row| Some(row.key) == selected).unwrap_or(0)
    }

    /// Scrolls just enough for the selected row to be visible; returns the number of rows above.
    pub(crate) fn scroll(&mut self, panel: Panel, selected: usize, count: usize, room: usize) -> usize {
        let place = self.places.entry(panel).or_default();
        let last = count.saturating_sub(room);
        place.above = place.above.clamp((selected + 1).saturating_sub(room), selected).min(last);
        place.above
    }
}

/// Rows above the first data row of a table: title and column headings.
pub(crate) const HEADING_ROWS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screenful::{LiveCell, LiveColumn};

    fn screen() -> Screenful {
        let row = |(name, late): (&str, f64)| LiveTableRow {
            key: name.len() as u64,
            cells: vec![LiveCell::text(name), LiveCell::number(late.to_string(), late)],
            ..LiveTableRow::default()
        };
        let table = LiveTable {
            columns: vec![LiveColumn::growing("name", 5), LiveColumn::number("late", 5, 0)],
            rows: [("bb", 5.0), ("a", 9.0), ("ccc", 7.0)].map(row).into(),
            ..LiveTable::default()
        };
        Screenful { table, ..Screenful::default() }
    }

    fn press(choices: &mut Choices, keys: &str) -> Reaction {
        let mut reaction = Reaction::Nothing;
        for letter in keys.chars() {
            let code = match letter {
                '\n' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                '\u{8}' => KeyCode::Backspace,
                letter => KeyCode::Char(letter),
            };
            reaction = choices.handle(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)), &screen());
        }
        reaction
    }

    fn names(choices: &Choices) -> Vec<String> {
        let screen = screen();
        choices.rows(Panel::Table, &screen.table).iter().map(|row| row.cells[0].text.clone()).collect()
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
        assert_eq!(press(&mut choices, "j"), Reaction::QueryChanged);
        assert_eq!(choices.selected(Panel::Table), Some(1), "the second, a");
        press(&mut choices, "ss");
        let screen = screen();
        let rows = choices.rows(Panel::Table, &screen.table);
        assert_eq!(choices.selected_index(Panel::Table, &rows), 0);
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
        assert_eq!(press(&mut choices, "q"), Reaction::Quit { keep_screen: false });
        assert_eq!(press(&mut choices, "Q"), Reaction::Quit { keep_screen: true });
        assert_eq!(press(&mut choices, "?"), Reaction::Nothing);
        assert!(choices.help);
        press(&mut choices, "\u{1b}");
        assert!(!choices.help);
        press(&mut choices, "?");
        assert_eq!(press(&mut choices, "q"), Reaction::Nothing, "the help is closed, and the run goes on");
        assert!(!choices.help);
        press(&mut choices, "?");
        let control_c = Event::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert_eq!(choices.handle(&control_c, &screen()), Reaction::Quit { keep_screen: false });
    }

    #[test]
    fn the_mouse_selects_and_scrolls() {
        let mut choices = Choices::new();
        choices.areas = vec![(Panel::Table, Rect::new(0, 3, 40, 6))];
        let mut point = |kind, row| {
            let mouse = MouseEvent { kind, column: 5, row, modifiers: KeyModifiers::NONE };
            choices.handle(&Event::Mouse(mouse), &screen());
            choices.selected(Panel::Table)
        };
        assert_eq!(point(MouseEventKind::Down(MouseButton::Left), 7), Some(3), "the third row");
        assert_eq!(point(MouseEventKind::ScrollUp, 4), Some(1));
        assert_eq!(point(MouseEventKind::Down(MouseButton::Left), 3), Some(1), "a title is no row");
        assert_eq!(point(MouseEventKind::Down(MouseButton::Left), 20), Some(1), "nothing is there");
    }
}
