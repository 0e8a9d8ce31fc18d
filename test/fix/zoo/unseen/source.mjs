/** Text of a program, in which \` and \${ are literal. */
export const js = (strings) => strings.raw[0].replaceAll('\\`', '`').replaceAll('\\${', '${')

/** @param {object} value */
export const json = (value) => JSON.stringify(value, undefined, 2)
