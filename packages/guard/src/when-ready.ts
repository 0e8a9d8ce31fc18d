/** Goes on at once where nothing has to be waited for: waiting costs more than most parts of a guarded call. */
export const whenReady = <T, R>(
  value: T | Promise<T>,
  goOn: (value: T) => R | Promise<R>,
): R | Promise<R> => (value instanceof Promise ? value.then(goOn) : goOn(value))
