export const shellQuote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Quotes a word only if a shell needs it. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : shellQuote(text)
