import { ask } from './model.mjs'

/** Prints how often a method was called. */
function counted<This, Args extends unknown[], Result>(
  method: (this: This, ...args: Args) => Result,
  context: ClassMethodDecoratorContext<This>,
) {
  let count = 0
  return function (this: This, ...args: Args): Result {
    console.log(String(context.name), ++count)
    return method.call(this, ...args)
  }
}

class Agent {
  @counted
  async ask(question: string): Promise<string> {
    return ask(question)
  }
}

const agent = new Agent()
console.log(await agent.ask('one'), await agent.ask('two'))
