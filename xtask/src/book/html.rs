use anyhow::Result;
pub fn render(_open: bool) -> Result<()> {
    Ok(())
}
