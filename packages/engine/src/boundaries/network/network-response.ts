/** What only a response from the network has, and its constructor cannot set. */
interface NetworkFacts {
  readonly url: string
  readonly redirected: boolean
  readonly type: string
}

const facts = new WeakMap<Response, NetworkFacts>()

const immutable = (): never => {
  throw new TypeError('immutable')
}

/** Made at the first response, because touching `Response` loads Node's fetch. */
let prototypes: { readonly response: object; readonly headers: object } | undefined

/**
 * Makes a response look like one from the network: its URL is set and its
 * headers cannot be changed. It is done by prototypes that all of them share:
 * properties of its own would cost a response more than all the rest of it.
 */
export function asFromNetwork(response: Response, from: NetworkFacts): Response {
  prototypes ??= makePrototypes()
  facts.set(response, from)
  Object.setPrototypeOf(response, prototypes.response)
  Object.setPrototypeOf(response.headers, prototypes.headers)
  return response
}

function makePrototypes(): NonNullable<typeof prototypes> {
  const { clone } = Response.prototype
  const fact = (name: keyof NetworkFacts): PropertyDescriptor => ({
    get(this: Response) {
      return facts.get(this)?.[name]
    },
    configurable: true,
  })
  const method = (value: Function): PropertyDescriptor => ({
    value,
    writable: true,
    configurable: true,
  })
  return {
    response: Object.create(Response.prototype, {
      url: fact('url'),
      redirected: fact('redirected'),
      type: fact('type'),
      clone: method(function (this: Response): Response {
        const copy = clone.call(this)
        const from = facts.get(this)
        return from ? asFromNetwork(copy, from) : copy
      }),
    }),
    headers: Object.create(Headers.prototype, {
      append: method(immutable),
      delete: method(immutable),
      set: method(immutable),
    }),
  }
}
