//! The parent of a rank, as the rank has it: the other end of its standard input.

use std::io::BufRead;
use std::sync::{Arc, Mutex, PoisonError};

/// What a rank is told by the program that started it.
#[derive(Clone, Default)]
pub struct News(Arc<Mutex<State>>);

/// What to do once a rank is lost.
type Act = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    /// The first rank that was, and how.
    loss: Option<String>,
    act: Option<Act>,
}

impl News {
    /// Reads what the parent says, on a thread of its own; once it has gone, `leave` is called.
    pub fn listen(parent: impl BufRead + Send + 'static, leave: impl FnOnce() + Send + 'static) -> Self {
        let news = Self::default();
        let told = news.clone();
        std::thread::spawn(move || {
            for line in parent.lines().map_while(Result::ok) {
                told.note(line);
            }
            leave();
        });
        news
    }

    /// The first rank that was lost, and how.
    #[must_use]
    pub fn loss(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).loss.clone()
    }

    /// Does this as soon as a rank is lost: at once, where one was.
    pub fn on_loss(&self, act: impl FnOnce() + Send + 'static) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.loss.is_none() {
            state.act = Some(Box::new(act));
            return;
        }
        drop(state);
        act();
    }

    fn note(&self, line: String) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.loss.get_or_insert(line);
        let act = state.act.take();
        drop(state);
        if let Some(act) = act {
            act();
        }
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
        let (sender, events) = channel();
        let left = sender.clone();
        let news = News::listen(BufReader::new(reader), move || left.send("left").unwrap());
        let lost = sender.clone();
        news.on_loss(move || lost.send("lost").unwrap());
        writer.write_all(b"rank 2 has ended\nrank 1 has ended\n").unwrap();
        assert_eq!(events.recv(), Ok("lost"));
        drop(writer);
        assert_eq!(events.recv(), Ok("left"));
        assert_eq!(news.loss().as_deref(), Some("rank 2 has ended"));
        news.on_loss(move || sender.send("late").unwrap());
        assert_eq!(events.recv(), Ok("late"));
    }
}
