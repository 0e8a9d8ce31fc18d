enum Tone {
  Brief = 'brief',
  Long = 'long',
}

namespace Prompts {
  export const greet = (tone: Tone) => `Say hello, ${tone}.`
}

class Agent {
  constructor(private readonly tone: Tone) {}
  async run(): Promise<string> {
    const { ask } = await import('./model.mjs')
    return ask(Prompts.greet(this.tone))
  }
}

void new Agent(Tone.Brief).run().then((text: string) => console.log(text, Math.random()))
