//! The configuration of a model, declared once: field, kind, default, text. The struct, its checks and its form in a scenario are generated
//! from the declaration.

use crate::error::LinkError;
use playpath_units::{Duration, ParamSpec, Params, QueueLimit, Rate, Ratio};

/// A configuration made by `config!`.
pub trait Config: Clone + std::fmt::Debug + Default + PartialEq {
    const PARAMS: &'static [ParamSpec];
    /// Build from settings in input form. Errors: a file's content that cannot be parsed; one line.
    fn of(params: &Params) -> Result<Self, String>;
    /// Every setting in input form, in declared order.
    fn texts(&self) -> Vec<(&'static ParamSpec, String)>;

    /// As settings, for a resolved scenario. The configuration must have been checked.
    fn params(&self) -> Params {
        let mut params = Params::defaults(Self::PARAMS);
        for (spec, text) in self.texts() {
            params.set_text(spec.name, &text).expect("was checked");
        }
        params
    }

    /// Errors: the first value that is not allowed. `model` is named with it.
    fn check(&self, model: &str) -> Result<(), LinkError> {
        for (spec, text) in self.texts() {
            if spec.check(spec.parse(&text)).is_err() {
                return Err(LinkError::new(format!("{model}.{}", spec.name), text, spec.allowed()));
            }
        }
        Ok(())
    }
}

pub(crate) trait Setting: Sized {
    fn read(text: &str) -> Result<Self, String>;
    /// The value in input form.
    fn text(&self) -> String;
}

macro_rules! plain_settings {
    ($($type:ty),+) => {$(
        impl Setting for $type {
            fn read(text: &str) -> Result<$type, String> {
                text.parse().map_err(|why| format!("\"{text}\": {why}"))
            }
            fn text(&self) -> String {
                self.to_string()
            }
        }
    )+};
}
plain_settings!(bool, u32, f64, Duration, QueueLimit, Rate, Ratio);

/// `None` is typed "auto".
impl<T: Setting> Setting for Option<T> {
    fn read(text: &str) -> Result<Option<T>, String> {
        if text == "auto" { Ok(None) } else { T::read(text).map(Some) }
    }
    fn text(&self) -> String {
        self.as_ref().map_or("auto".into(), T::text)
    }
}

/// `NAME { field: type = constructor(…), "doc" since "version"; … }`: the struct with public fields, [`Default`] and [`Config`]. The constructor is one of
/// [`ParamSpec`]; name and text are put in.
macro_rules! config {
    ($(#[$about:meta])* $name:ident {
        $($field:ident: $type:ty = $make:ident($($value:expr),*) $(or $word:literal)?, $doc:literal $(since $since:literal)?;)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $(#[doc = $doc] pub $field: $type,)*
        }

        impl $crate::settings::Config for $name {
            const PARAMS: &'static [playpath_units::ParamSpec] =
                &[$(playpath_units::ParamSpec::$make(stringify!($field), $($value,)* $doc)$(.or($word).by_default($word))?$(.since($since))?,)*];
            fn of(params: &playpath_units::Params) -> Result<$name, String> {
                Ok($name { $($field: $crate::settings::Setting::read(&params.text(stringify!($field)))?,)* })
            }
            fn texts(&self) -> Vec<(&'static playpath_units::ParamSpec, String)> {
                let texts = [$($crate::settings::Setting::text(&self.$field)),*];
                Self::PARAMS.iter().zip(texts).collect()
            }
        }

        impl Default for $name {
            fn default() -> $name {
                let defaults = playpath_units::Params::defaults(<$name as $crate::settings::Config>::PARAMS);
                <$name as $crate::settings::Config>::of(&defaults).expect("defaults are right")
            }
        }
    };
}
pub(crate) use config;

/// `NAME, WORDS { Variant = "word", "doc"; … }`: an enum that is typed as one of a few words.
macro_rules! words {
    ($(#[$about:meta])* $name:ident, $words:ident { $($variant:ident = $word:literal, $doc:literal;)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $(#[doc = $doc] $variant,)+
        }

        const $words: playpath_units::Kind = playpath_units::Kind::Word(&[$($word),+]);

        impl $crate::settings::Setting for $name {
            fn read(text: &str) -> Result<$name, String> {
                match text {
                    $($word => Ok($name::$variant),)+
                    _ => Err(format!("\"{text}\" is not known")),
                }
            }
            fn text(&self) -> String {
                match self {
                    $($name::$variant => $word.into(),)+
                }
            }
        }
    };
}
pub(crate) use words;
