//! The parent of a rank, as the rank has it: the other end of its standard input.

use std::io::BufRead;
use std::sync::{Arc, Mutex, PoisonError};

/// What a rank is told by the program that started it.
#[derive(Debug, Clone, Default)]
pub struct News(Arc<Mutex<Option<String>>>);

impl News {
    /// Reads what the parent says, on a thread of its own; once it has gone, `leave` is called.
    pub fn listen(parent: impl BufRead + Send + 'static, leave: impl FnOnce() + Send + 'static) -> Self {
        let news = Self::default();
        let told = news.clone();
        std::thread::spawn(move || {
            for line in parent.lines().map_while(Result::ok) {
                told.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(line);
            }
            leave();
        });
        news
    }

    /// The first thing that went wrong elsewhere, where something has.
    #[must_use]
    pub fn loss(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write, pipe};
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn the_first_loss_is_kept_and_the_end_is_told() {
        let (reader, mut writer) = pipe().unwrap();
        let (sender, ended) = channel();
        let news = News::listen(BufReader::new(reader), move || sender.send(()).unwrap());
        writer.write_all(b"rank 2 has ended\nrank 1 has ended\n").unwrap();
        assert!(ended.try_recv().is_err());
        drop(writer);
        ended.recv().unwrap();
        assert_eq!(news.loss().as_deref(), Some("rank 2 has ended"));
    }
}
