export const version = 'first'
