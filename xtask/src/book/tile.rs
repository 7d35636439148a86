use anyhow::Result;
use gpu_kernels::Step;

use super::pages::Page;
use super::request::Figures;

pub fn block(_step: &Step, _page: &Page, _figures: &mut Figures) -> Result<String> {
    Ok(String::new())
}
