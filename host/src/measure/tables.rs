//! Tables of what is fastest, as files: [`crate::measure::tune`] writes them.

use std::path::Path;

pub use sgemm::select::Table;

use crate::Error;

/// Reads a table.
///
/// # Errors
/// [`Error::BadTable`] where it cannot be read, or as of [`Table::parse`].
pub fn from_file(path: &Path) -> Result<Table, Error> {
    let bad = |reason: String| Error::BadTable { path: path.display().to_string(), reason };
    let text = results::read_text(path).map_err(|error| bad(error.to_string()))?;
    Table::parse(&text).map_err(|error| bad(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_files_are_one_line() {
        let error = from_file(Path::new("/no/such/table.txt")).unwrap_err();
        assert!(error.to_string().contains("No such file") && error.exit_code() == 1, "{error}");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "]]").unwrap();
        let message = from_file(file.path()).unwrap_err().to_string();
        assert!(
            message.contains(" is not a table that `host tune` wrote: line 1: ") && !message.contains('\n'),
            "{message}"
        );
    }
}
