//! Features that a stream of a load can use and the jobs of a plan never use.

/// Proof that this program can run loads. A program built without loads has no such
/// value, so the compiler removes the code that needs one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loads {
    #[cfg(feature = "loads")]
    Here,
}

impl Loads {
    /// Returns `None` if only the jobs of a plan can run ([`crate::measure()`]).
    pub(crate) const fn here() -> Option<Self> {
        #[cfg(feature = "loads")]
        return Some(Self::Here);
        #[cfg(not(feature = "loads"))]
        return None;
    }
}

/// A part of a stream that only loads request. In a program without loads it is
/// always absent, and the compiler removes its code.
#[derive(Debug)]
pub(crate) struct Extra<T>(WithLoads<T>);

#[cfg(feature = "loads")]
type WithLoads<T> = Option<T>;
#[cfg(not(feature = "loads"))]
type WithLoads<T> = std::marker::PhantomData<T>;

#[cfg(feature = "loads")]
impl<T> Extra<T> {
    /// Stores the result of `make`; without loads, `make` is not called.
    pub(crate) fn new(make: impl FnOnce() -> Option<T>) -> Self {
        Self(make())
    }

    /// Stores the result of a `make` that can fail; without loads, `make` is not
    /// called.
    ///
    /// # Errors
    /// The error that `make` returned.
    pub(crate) fn try_new<E>(make: impl FnOnce() -> Result<Option<T>, E>) -> Result<Self, E> {
        make().map(Self)
    }

    pub(crate) const fn as_ref(&self) -> Option<&T> {
        self.0.as_ref()
    }

    pub(crate) const fn as_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }

    pub(crate) const fn take(&mut self) -> Option<T> {
        self.0.take()
    }
}

#[cfg(not(feature = "loads"))]
impl<T> Extra<T> {
    pub(crate) fn new(_make: impl FnOnce() -> Option<T>) -> Self {
        Self(std::marker::PhantomData)
    }

    pub(crate) fn try_new<E>(make: impl FnOnce() -> Result<Option<T>, E>) -> Result<Self, E> {
        let _ = make;
        Ok(Self(std::marker::PhantomData))
    }

    pub(crate) const fn as_ref(&self) -> Option<&T> {
        None
    }

    pub(crate) const fn as_mut(&mut self) -> Option<&mut T> {
        None
    }

    pub(crate) const fn take(&mut self) -> Option<T> {
        None
    }
}

impl<T> Extra<T> {
    pub(crate) const fn is_some(&self) -> bool {
        self.as_ref().is_some()
    }

    pub(crate) const fn is_none(&self) -> bool {
        self.as_ref().is_none()
    }
}
