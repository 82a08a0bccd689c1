//! SVG drawings: axes, marks, legends, independent of what they show.

mod axes;
mod axis;
mod forest;
mod hue;
mod labelled_rows;
mod lanes;
mod legend;
mod marks;
mod matrix;
mod path;
mod plot;
mod ridges;
mod row_frame;
mod rows;
mod theme;
mod thin_rows;

pub(crate) use axis::{Area, Axis, Room};
pub(crate) use forest::{Forest, ForestGroup, ForestRow};
pub(crate) use hue::{HUES, Hue};
pub(crate) use labelled_rows::RowLabel;
pub(crate) use lanes::{Gantt, GanttBar, GanttLane};
pub(crate) use legend::{LegendEntry, LegendSymbol, legend, legend_svg};
pub(crate) use marks::{Along, Mark, SHADES};
pub(crate) use matrix::{Matrix, MatrixCell, MatrixRow, shade, shade_on};
pub(crate) use plot::{LineLabel, Plot, PlotForm};
pub(crate) use ridges::{Ridge, RidgeGroup, Ridges};
pub(crate) use rows::{PercentileRow, PercentileRows};
pub use theme::ChartTheme;
pub(crate) use theme::style;
pub(crate) use thin_rows::ThinRow;

use maud::Markup;

/// Colours of the light and the dark theme.
const COLOURS: &str = include_str!("colours.css");
const STYLE: &str = include_str!("chart.css");

pub(crate) enum Drawing {
    Plot(Plot),
    /// Minimum to maximum of several conditions, on one axis.
    PercentileRows(PercentileRows),
    Gantt(Gantt),
    Matrix(Matrix),
    /// Differences with confidence intervals.
    Forest(Forest),
    /// Densities, row by row.
    Ridges(Ridges),
}

impl Drawing {
    /// SVG element; `name` is its label for screen readers.
    pub(crate) fn svg(&self, room: Room, name: &str) -> Markup {
        match self {
            Self::Plot(plot) => plot.svg(room, name),
            Self::PercentileRows(rows) => rows.svg(room, name),
            Self::Gantt(lanes) => lanes.svg(room, name),
            Self::Matrix(matrix) => matrix.svg(room, name),
            Self::Forest(forest) => forest.svg(room, name),
            Self::Ridges(ridges) => ridges.svg(room, name),
        }
    }

    /// Height in SVG units.
    pub(crate) fn height(&self, room: Room) -> f64 {
        match self {
            Self::Plot(plot) => plot.height(room),
            Self::PercentileRows(rows) => rows.height(),
            Self::Gantt(lanes) => lanes.height(),
            Self::Matrix(matrix) => matrix.height(room),
            Self::Forest(forest) => forest.height(room),
            Self::Ridges(ridges) => ridges.height(room),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_render::scale::Scale;

    fn lines(svg: &Markup) -> String {
        svg.0.replace("><", ">\n<")
    }

    fn axis(scale: Scale) -> Axis {
        Axis::new(scale, "title", |value| format!("{value}"))
    }

    #[test]
    fn a_plot_of_every_mark() {
        let (first, second) = (Hue::nth(0), Hue::nth(1));
        let plot = Plot {
            horizontal: axis(Scale::exactly(0.0, 10.0)),
            vertical: axis(Scale::logarithmic(1.0, 100.0)),
            marks: vec![
                Mark::Shade { from: 2.0, until: 4.0 },
                Mark::Heat { hue: first, rows: 2, columns: 3, shades: vec![0, 1, 1, 4, 0, 2] },
                Mark::Band { hue: first, points: vec![(0.0, 1.0, 10.0), (10.0, 10.0, 100.0)] },
                Mark::Line { hue: second, points: vec![(0.0, 1.0), (10.0, 100.0)] },
                Mark::Steps {
                    hue: first,
                    steps: vec![(0.0, 1.0, 5.0), (1.0, 2.0, 7.0), (5.0, 6.0, 1.0)],
                    filled: true,
                },
                Mark::Tops { hue: first, tops: vec![(0.0, 1.0, 5.0)] },
                Mark::Dots { hue: second, points: vec![(5.0, 10.0)], radius: 2.0 },
                Mark::Spots { hue: second, spots: vec![((5.0, 10.0), "worst <&>".into())] },
                Mark::Rule { along: Along::Horizontal, at: 10.0, text: "level".into() },
                Mark::Rule { along: Along::Vertical, at: 5.0, text: "upright".into() },
                Mark::Flag { hue: first, at: 10.0 },
                Mark::Note { text: "note <&>".into() },
            ],
            form: PlotForm::Alone,
            ends: Vec::new(),
        };
        insta::assert_snapshot!("plot", lines(&plot.svg(Room::Narrow, "name \"quoted\"")));
    }

    #[test]
    fn rows_of_a_ranking() {
        let row = PercentileRow {
            name: "fifo:80".into(),
            hue: Hue::nth(0),
            min: 1.0,
            median: 3.0,
            p99: 10.0,
            max: 100.0,
            tooltip: "words".into(),
        };
        let rows = PercentileRows { axis: axis(Scale::logarithmic(1.0, 100.0)), rows: vec![row] };
        insta::assert_snapshot!("rows", lines(&rows.svg(Room::Narrow, "name")));
    }

    fn label(name: &str) -> RowLabel {
        RowLabel { name: name.into(), value: "value".into(), tooltip: "words <&>".into() }
    }

    #[test]
    fn differences_of_a_forest() {
        let row = |interval, undetected| ForestRow {
            label: label("p99"),
            hue: Hue::nth(2),
            at: 2.0,
            interval,
            undetected,
        };
        let differences = vec![row(Some((1.0, 3.0)), None), row(None, Some((0.5, 1.5)))];
        let forest = Forest {
            axis: axis(Scale::exactly(0.0, 4.0)),
            none: (1.0, "none".into()),
            groups: vec![ForestGroup { heading: "group".into(), differences }],
        };
        insta::assert_snapshot!("forest", lines(&forest.svg(Room::Wide, "name")));
    }

    #[test]
    fn ridges_of_a_range() {
        let ridge = Ridge {
            label: label("a name that is too long for the column that names are in"),
            hue: Hue::nth(0),
            heights: vec![0.0, 0.5, 1.0, 0.0, 0.2],
            p50: 10.0,
            p99: Some(100.0),
            max: 1_000.0,
        };
        let ridges = Ridges {
            axis: axis(Scale::logarithmic(1.0, 1_000.0)),
            groups: vec![RidgeGroup { heading: String::new(), ridges: vec![ridge] }],
            rules: vec![(500.0, "deadline".into())],
        };
        insta::assert_snapshot!("ridges", lines(&ridges.svg(Room::Narrow, "name")));
    }

    #[test]
    fn fields_of_a_matrix() {
        let field =
            MatrixCell { shade: "h0", label: "1 µs".into(), tooltip: String::new(), is_marked: false };
        let matrix = Matrix {
            across: "receiver".into(),
            down: "sender".into(),
            columns: vec!["0".into(), "1".into()],
            rows: vec![MatrixRow { name: "0".into(), cells: vec![Some(field), None] }],
            ..Matrix::default()
        };
        insta::assert_snapshot!("matrix", lines(&matrix.svg(Room::Narrow, "name")));
    }

    #[test]
    fn rows_without_names_and_what_shades_mean() {
        let field =
            MatrixCell { shade: "h4", label: "81".into(), tooltip: "words <&>".into(), is_marked: true };
        let matrix = Matrix {
            across: "condition".into(),
            down: "node".into(),
            key: vec![
                "1 · a line that is too long for a narrow page and therefore ends in an ellipsis".into(),
            ],
            columns: vec!["1".into()],
            rows: vec![MatrixRow {
                name: "a name that is too long for the column".into(),
                cells: vec![Some(field)],
            }],
            thin_rows: vec![vec![Some("h0")], vec![None]],
            shades: vec!["little", "much"],
            is_dense: true,
        };
        insta::assert_snapshot!("matrix-rows", lines(&matrix.svg(Room::Narrow, "name")));
    }

    #[test]
    fn marks_never_leave_the_area() {
        let horizontal = axis(Scale::exactly(0.0, 10.0));
        let area = Area {
            left: 50.0,
            right: 390.0,
            top: 30.0,
            bottom: 200.0,
            horizontal: &horizontal,
            vertical: &horizontal,
        };
        for value in [-1e9, 0.0, 5.0, 10.0, 1e18] {
            assert!((50.0..=390.0).contains(&area.x(value)) && (30.0..=200.0).contains(&area.y(value)));
        }
    }
}
