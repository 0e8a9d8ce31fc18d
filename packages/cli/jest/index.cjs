/** `retake` inside a Jest test: the library that lives outside, in `retake/jest-environment`. */
module.exports = require('./door.cjs').retake
