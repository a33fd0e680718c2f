//! Pictures: grids of coloured cells with heads, side by side.
//!
//! In: cells. Out: nothing by itself; the formats draw it. Invariant: the cells of a panel are a
//! full rectangle, row by row.

use serde::Serialize;

use super::colour::Shade;

/// Most cells of a picture.
pub const MOST_CELLS: i64 = 1 << 15;

/// What can be seen at once.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Picture {
    /// What is shown, in layout notation.
    pub title: String,
    /// The grids.
    pub panels: Vec<Panel>,
    /// What a reader should notice.
    pub notes: Vec<String>,
}

/// Where a panel stands among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Row of panels.
    pub row: usize,
    /// Column of panels.
    pub column: usize,
}

/// A grid.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Panel {
    /// Its name.
    pub title: String,
    /// Where it stands.
    pub place: Place,
    /// The rows' axis: its name, and where heavier lines cut it.
    pub rows: Axis,
    /// The columns' axis.
    pub columns: Axis,
    /// The cells, row by row.
    pub cells: Vec<Cell>,
    /// Characters that a cell has room for at least, so that panels can share edges.
    #[serde(skip)]
    pub room: usize,
}

/// One side of a grid.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// What runs along it.
    pub name: String,
    /// How many cells.
    pub count: usize,
    /// Extents of the leaves of its mode: blocks of the first leaf are set apart.
    #[serde(skip)]
    pub block: usize,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// A second, smaller line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What its colour says.
    #[serde(skip)]
    pub shade: Shade,
}

impl Axis {
    /// An axis without blocks.
    pub fn plain(name: &str, count: usize) -> Axis {
        Axis {
            name: name.to_owned(),
            count,
            block: 0,
        }
    }

    /// Whether a heavier line stands before this index.
    pub fn is_cut_before(&self, index: usize) -> bool {
        self.block > 1 && index > 0 && index < self.count && index.is_multiple_of(self.block)
    }
}

impl Cell {
    /// A cell with one line.
    pub fn new(text: impl Into<String>, shade: Shade) -> Cell {
        Cell {
            text: text.into(),
            detail: String::new(),
            shade,
        }
    }

    /// A cell of nothing.
    pub fn blank() -> Cell {
        Cell::new("", Shade::Blank)
    }
}

impl Panel {
    /// The cell at a row and a column.
    pub fn cell(&self, row: usize, column: usize) -> Option<&Cell> {
        self.cells.get(row * self.columns.count + column)
    }

    /// Characters of the longest line of a cell.
    pub fn widest(&self) -> usize {
        let lines = self
            .cells
            .iter()
            .flat_map(|cell| [&cell.text, &cell.detail]);
        let widest = lines.map(|line| line.chars().count()).max();
        widest.unwrap_or(0).max(self.room)
    }

    /// Whether cells have a second line.
    pub fn has_details(&self) -> bool {
        self.cells.iter().any(|cell| !cell.detail.is_empty())
    }
}
