//! Outputs that take the place of an input: what is stored there is read by all who come later.

use super::super::output::Matrix;
use super::Memory;

impl Memory<'_, '_> {
    /// Puts a row of elements of an output where it takes the place of an input's, as far as they
    /// are inside.
    pub(super) fn replace(
        &mut self,
        output: Matrix,
        line: &[f64],
        [row, column]: [i64; 2],
    ) -> Result<(), String> {
        let Some(over) = self.plan.over(self.plan.operand(output.operand)) else {
            return Ok(());
        };
        let places = self.problem.inputs.get_mut(over.id.0);
        let grid = places.and_then(|places| places.get_mut(output.place));
        let grid = grid.ok_or("takes the place of no input")?;
        let [rows, columns] = grid.extents.map(|extent| extent as i64);
        let inside = line
            .iter()
            .zip(column..)
            .filter(|(_, column)| row < rows && *column < columns);
        for (value, column) in inside {
            let element = grid.element_mut([row, column]);
            *element.ok_or("takes the place of no element")? = *value;
        }
        Ok(())
    }
}
